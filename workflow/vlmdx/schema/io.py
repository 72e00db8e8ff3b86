"""Write and read the artifacts: whole or not at all, and only as their contract says.

A file appears under its final name by one rename, so a reader never sees half of it, whatever is killed when.
"""

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vlmdx.schema.tables import IMAGE, Table

FOOTER_KEY = b"vlmdx"
IMAGES_PER_GROUP = 64


class ContractError(ValueError):
    """A table breaks its contract, or a file is not what its name says; the message names file, column and remedy."""


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it to ``path`` when the block ends without an exception.

    The name is unique per call, so that two processes that write the same artifact never share a half-written file.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: some writers (matplotlib, Pillow) take the format from it.
    temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex[:12]}.tmp{final.suffix}")
    try:
        yield temporary
        temporary.chmod(0o644)  # safetensors makes files that nobody else may read
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(
    path: str | os.PathLike,
    rows: pa.Table | Sequence[Mapping[str, Any]],
    contract: Table,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write one artifact (zstd, Hugging Face image columns kept readable, provenance in the footer).

    Args:
        path: where the finished file is to stand.
        rows: an Arrow table, or a list of dicts with exactly the contract's columns.
        contract: which columns, of which type, unique in which key.
        provenance: JSON-able record of what made the rows; read back with :func:`read_provenance`.

    Raises:
        ContractError: unknown or missing column, wrong type, NULL where none may be, NaN (in ``provenance`` too), or
            a repeated key.
    """
    table = check(_as_table(rows, contract, path), contract, path)
    metadata = {**(table.schema.metadata or {}), FOOTER_KEY: footer_json(provenance)}
    # Arrow cannot read a struct column whose row group holds more than 2 GB of image bytes.
    groups = {"row_group_size": IMAGES_PER_GROUP} if IMAGE in contract.schema.types else {}
    with atomic(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata(metadata), temporary, compression="zstd", write_page_checksum=True, **groups
        )


def footer_json(provenance: Mapping[str, Any] | None) -> bytes:
    """The footer's record as JSON.

    Raises:
        ContractError: it holds NaN, an infinity, or what JSON cannot hold.
    """
    try:
        return json.dumps(provenance or {}, sort_keys=True, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ContractError(f"the record for the footer is no JSON ({error}); missing values are null") from error


def read_table(
    path: str | os.PathLike, contract: Table, columns: Sequence[str] | None = None, filters=None
) -> pa.Table:
    """Read one artifact and check it against its contract.

    Raises:
        ContractError: the file is missing, cut short, not Parquet, or has other columns than the contract.
    """
    try:
        found = pq.read_schema(path)
        _check_columns(found, contract, path)
        return pq.read_table(
            path,
            columns=list(columns) if columns else None,
            filters=filters,
            partitioning=None,
            page_checksum_verification=True,
        )
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise ContractError(
            f"{path}: not a readable {contract.name} file ({error}); remove it and run again"
        ) from error


def read_provenance(path: str | os.PathLike) -> dict[str, Any]:
    """The record that :func:`write_table` put in the footer; empty if there is none."""
    return json.loads((pq.read_schema(path).metadata or {}).get(FOOTER_KEY, b"{}"))


def check(table: pa.Table, contract: Table, where: str | os.PathLike) -> pa.Table:
    """Return ``table`` with the contract's column order and metadata, or raise :class:`ContractError`."""
    _check_columns(table.schema, contract, where)
    table = table.select(contract.schema.names)
    for field in contract.schema:
        column = table.column(field.name)
        if not field.nullable and column.null_count:
            raise ContractError(f"{where}: column {field.name!r} has {column.null_count} NULL, none may be NULL")
        if pa.types.is_floating(field.type) and pc.any(pc.is_nan(column)).as_py():
            row = pc.index(pc.is_nan(column), True).as_py()
            raise ContractError(f"{where}: column {field.name!r} is NaN in row {row}; missing values are NULL")
    table = table.cast(contract.schema)
    if table.num_rows:
        groups = table.select(list(contract.key)).group_by(list(contract.key)).aggregate([([], "count_all")])
        if groups.num_rows < table.num_rows:
            repeated = groups.filter(pc.greater(groups["count_all"], 1)).slice(0, 1).to_pylist()[0]
            raise ContractError(f"{where}: {contract.name} key {contract.key} is not unique, first repeat: {repeated}")
    return table


def _as_table(rows: pa.Table | Sequence[Mapping[str, Any]], contract: Table, where: str | os.PathLike) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    for number, row in enumerate(rows):
        if set(row) != set(contract.schema.names):
            wrong = sorted(set(row) ^ set(contract.schema.names))
            raise ContractError(f"{where}: row {number} of {contract.name} has unknown or missing columns {wrong}")
    try:
        return pa.Table.from_pylist(list(rows), schema=contract.schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ContractError(f"{where}: a value does not fit the {contract.name} contract: {error}") from error


def _check_columns(found: pa.Schema, contract: Table, where: str | os.PathLike) -> None:
    missing = [n for n in contract.schema.names if n not in found.names]
    unknown = [n for n in found.names if n not in contract.schema.names]
    if missing or unknown:
        raise ContractError(f"{where}: {contract.name} misses columns {missing or 'none'}, unknown {unknown or 'none'}")
    for field in contract.schema:
        if not found.field(field.name).type.equals(field.type):
            raise ContractError(
                f"{where}: column {field.name!r} is {found.field(field.name).type}, {contract.name} needs {field.type}"
            )
