"""Arrow rows on disk instead of in memory: tables of PNGs grow past what a small machine holds."""

import tempfile
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa

from vlmdx.schema.tables import Table

BATCH = 64  # images held as Python objects at a time


class Spill(AbstractContextManager):
    """Collects rows of one contract in a temporary file; :meth:`table` maps them back without reading them.

    The temporary file lives as long as the ``with`` block, and so does the table's data.
    """

    def __init__(self, contract: Table, folder: Path) -> None:
        self._contract, self._rows = contract, list[Mapping[str, Any]]()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".tmp.arrow")  # noqa: SIM115 -- __exit__
        self._writer = pa.ipc.new_file(self._file.name, contract.schema)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one row with exactly the contract's columns."""
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def append(self, batch: pa.RecordBatch) -> None:
        """Append rows that are already Arrow."""
        self._flush()
        self._writer.write_batch(batch.cast(self._contract.schema))

    def table(self, keep: Collection[str] | None = None) -> pa.Table:
        """The rows, backed by the file; nothing can be added any more.

        Args:
            keep: values of the key column that stay; None keeps all.
        """
        self._flush()
        self._writer.close()
        table = pa.ipc.open_file(pa.memory_map(self._file.name)).read_all()
        if keep is None or len(keep) == len(table):
            return table
        # Slices of the mapped file, not a filtered copy of all the pictures in memory.
        key = table[self._contract.key[0]].to_pylist()
        return pa.concat_tables([table.slice(place, 1) for place, name in enumerate(key) if name in keep])

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(list(self._rows), schema=self._contract.schema))
            self._rows.clear()

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._file.close()
