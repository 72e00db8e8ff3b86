"""Score one shard of corrupted images, cell by cell, so that a killed job loses at most one cell.

A cell is one (corruption, severity). Finished cells stand as parts beside the output, under a name that holds a digest
of everything they depend on; the next start of the same job reuses them and only them.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem
from tqdm import tqdm

from vlmdx.datasets.account import kind
from vlmdx.models.adapter import Adapter
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, ITEMS, SCORES, SELECTION
from vlmdx.scoring.cell import score_cell
from vlmdx.scoring.question import Question, Readout, ask

CHUNK = 128  # images of a cell in memory at once
Cell = tuple[str, int]


def score_cells(
    adapter: Adapter,
    questions: Sequence[Question],
    corrupted: Path,
    cells: Sequence[Cell],
    readout: Readout,
    batch_tokens: int,
) -> Iterator[tuple[Cell, pa.Table]]:
    """Yield the score table of each cell of ``corrupted``, in the given order."""
    wanted = sorted({question.image_id for question in questions})
    for corruption, severity in cells:
        chunks = cell_images(corrupted, (corruption, severity), wanted)
        rows = score_cell(adapter, questions, chunks, corruption, severity, readout, batch_tokens)
        yield (corruption, severity), pa.Table.from_pylist(rows, SCORES.schema)


def score_shard(
    adapter: Adapter,
    items: Path,
    corrupted: Path,
    output: Path,
    readout: Readout,
    template: str,
    batch_tokens: int,
    digest: str,
    provenance: Mapping[str, Any],
    selection: Path | None = None,
) -> str:
    """Score every item on every image version of one shard and write the score table.

    Args:
        items: item table.
        corrupted: one family's shard of corrupted images.
        output: score table to write; finished cells are kept beside it until then.
        template: text of the prompt file.
        digest: of code and settings; with the content of the inputs it names the finished cells.
        provenance: for the footer; what the model was shown first is added.
        selection: score the items named there only.

    Returns:
        One line that accounts for all rows.

    Raises:
        ContractError: no items, or the selection names items that are not in the table.
        ValueError: not one row could be scored.
    """
    chosen = read_items(items, selection)
    versions = read_table(corrupted, CORRUPTED, ["image_id", "corruption", "severity", "sha256"]).to_pylist()
    cells = sorted({(v["corruption"], v["severity"]) for v in versions})
    questions = [ask(adapter, item, readout, template) for item in chosen]
    identity = [digest, readout, template, batch_tokens, adapter.describe(), chosen, versions]
    family = output.name.removesuffix(".parquet")
    key = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
    parts = output.parent / f".parts-{family}-{key}"
    paths = {cell: parts / f"{cell[0]}-{cell[1]}.parquet" for cell in cells}
    todo = [cell for cell in cells if not paths[cell].exists()]
    finished = score_cells(adapter, questions, corrupted, todo, readout, batch_tokens)
    with tqdm(total=len(cells), initial=len(cells) - len(todo), desc=f"score {family}", unit="cell") as bar:
        for cell, table in finished:
            write_table(paths[cell], table, SCORES)
            bar.update()
    table = pa.concat_tables([read_table(paths[cell], SCORES) for cell in cells])
    line = account(table, output)
    shown = {"scoring": {"adapter": adapter.describe(), "account": line, "first": first_shown(adapter, questions)}}
    write_table(output, table, SCORES, {**provenance, **shown})
    for stale in output.parent.glob(f".parts-{family}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    return line


def read_items(items: Path, selection: Path | None) -> list[dict[str, Any]]:
    """What scoring needs of the items, in the table's order.

    Raises:
        ContractError: no items, or ids of the selection are missing.
    """
    found = read_table(items, ITEMS, ["item_id", "image_id", "question", "options", "answer"]).to_pylist()
    if selection is not None:
        ids = set(read_table(selection, SELECTION, ["item_id"])["item_id"].to_pylist())
        if missing := sorted(ids - {item["item_id"] for item in found}):
            raise ContractError(f"{selection}: {len(missing)} items are not in {items}, first {missing[0]!r}")
        found = [item for item in found if item["item_id"] in ids]
    if not found:
        raise ContractError(f"{selection or items}: no items to score")
    return found


def cell_images(corrupted: Path, cell: Cell, wanted: Collection[str]) -> Iterator[dict[str, bytes]]:
    """Encoded images of one cell, ``CHUNK`` at a time; the shard is read as a stream, never whole."""
    is_cell = (ds.field("corruption") == cell[0]) & (ds.field("severity") == cell[1])
    scanner = ds.dataset(str(corrupted), format="parquet", filesystem=LocalFileSystem()).scanner(
        columns=["image_id", "image"],
        filter=is_cell & ds.field("image_id").isin(wanted),
        batch_size=CHUNK,
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=False,
        fragment_scan_options=ds.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False),
    )
    chunk: dict[str, bytes] = {}
    for batch in scanner.to_batches():
        for row in batch.to_pylist():
            chunk[row["image_id"]] = row["image"]["bytes"]
            if len(chunk) == CHUNK:
                yield chunk
                chunk = {}
    if chunk:
        yield chunk


def account(table: pa.Table, output: Path) -> str:
    """Rows in = rows scored + rows set aside, by reason.

    Raises:
        ValueError: nothing was scored; an empty model must not pass for a finished one.
    """
    reasons = Counter(reason and kind(reason) for reason in table["reason"].to_pylist())
    scored = reasons.pop(None, 0)
    aside = "".join(f"; {count} x {reason}" for reason, count in sorted(reasons.items()))
    line = f"{output.name}: {table.num_rows} option rows = {scored} scored + {table.num_rows - scored} set aside{aside}"
    if not scored:
        raise ValueError(f"{output}: not one row could be scored. {line}")
    return line


def first_shown(adapter: Adapter, questions: Sequence[Question]) -> dict[str, Any]:
    """Prompt and ids of the first question that can be asked, for whoever wants to see what the model was shown."""
    question = next(q for q in questions if not q.reason)
    return {
        "item_id": question.item_id,
        "prompt": question.prompt,
        "ids": adapter.encode_text(question.prompt)[:32],
        "separator": adapter.separator,
        "target_ids": [list(target) for target in question.targets],
    }
