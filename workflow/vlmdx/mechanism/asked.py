"""Which questions a model answers right before anything is changed in it, and how many of them are dissected."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from vlmdx.mechanism.draw import ANSWERS, answer
from vlmdx.mechanism.prepare import content
from vlmdx.mechanism.tables import ASKED
from vlmdx.models.adapter import Adapter
from vlmdx.schema import read_table, write_table
from vlmdx.scoring.cell import score_cell
from vlmdx.scoring.question import Readout, ask

CHUNK = 256  # questions whose images are in memory at once, and that a killed job asks again at most
UNDRAWN = "not drawn: the draw is balanced between right and wrong answers"


def ask_all(
    adapter: Adapter,
    items: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    parts: Path,
    *,
    template: str,
    batch_tokens: int,
    readout: Readout = "letter",
) -> pa.Table:
    """Ask every question once, without intervention, as the main job does; finished chunks are taken from ``parts``.

    Args:
        adapter: the model.
        items: rows of the item table, each with a gold answer.
        images: encoded image by image id.
        parts: folder of finished chunks; its name must hold a digest of everything that the answers depend on.
        template: text of the prompt file.
        batch_tokens: padded tokens per forward pass.
        readout: by letter or in words.

    Returns:
        Rows of :data:`ASKED`, in the order of the items; ``correct`` is null where the question could not be asked.
    """
    tables = []
    for first in tqdm(range(0, len(items), CHUNK), desc="clean pass", unit="chunk"):
        chunk = items[first : first + CHUNK]
        known = [(item["item_id"], content(item, images[item["image_id"]])) for item in chunk]
        name = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]
        path = parts / f"{name}.parquet"
        if not path.exists():
            write_table(path, _chunk(adapter, chunk, images, template, batch_tokens, readout), ASKED)
        tables.append(read_table(path, ASKED))
    return pa.concat_tables(tables)


def _chunk(
    adapter: Adapter,
    items: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    template: str,
    batch_tokens: int,
    readout: Readout,
) -> list[dict[str, Any]]:
    questions = [ask(adapter, item, readout, template) for item in items]
    rows = score_cell(adapter, questions, [images], "clean", 0, readout, batch_tokens)
    return [
        {"item_id": row["item_id"], "correct": row.get("chosen"), "reason": row["reason"]}
        for row in rows
        if row["is_gold"]
    ]


def undrawn(
    asked: Iterable[Mapping[str, Any]], chosen: Iterable[Mapping[str, Any]], operation: str
) -> list[dict[str, Any]]:
    """Rows of the rejected contract: items that were asked and not drawn, or could not be asked."""
    drawn = {item["item_id"] for item in chosen}
    return [
        {"source": operation, "position": i, "item_id": i, "reason": row["reason"] or UNDRAWN}
        for row in asked
        if (i := row["item_id"]) not in drawn
    ]


def as_dissected(items: Sequence[Mapping[str, Any]], parts: pa.Table) -> list[dict[str, Any]]:
    """Rows of :data:`ASKED` where no clean pass was made: what the dissection tells of each item.

    Args:
        items: the items.
        parts: rows of :data:`vlmdx.mechanism.tables.PARTS`.
    """
    first = {row["item_id"]: row for row in parts.select(["item_id", "correct", "reason"]).to_pylist()}
    return [{key: first[item["item_id"]][key] for key in ASKED.schema.names} for item in items]


def sampling(
    model: str, items: Iterable[Mapping[str, Any]], asked: Iterable[Mapping[str, Any]], dissected: Iterable[str]
) -> pd.DataFrame:
    """How many questions stand behind a model's numbers: a row per operation and gold answer (yes, no, other).

    Args:
        model: slug.
        items: all rows of the item table; those without gold answer are not counted.
        asked: rows of :data:`vlmdx.mechanism.tables.ASKED`, all operations.
        dissected: ids of the items that have effects.

    Returns:
        Columns model, operation, answer; questions (in the data set), asked (of this model), right, wrong (of those),
        dissected_right, dissected_wrong. ``questions`` - ``asked`` were not drawn, or name no object (an absent thing
        has no box); the data set's rejected.parquet of each operation tells these.
    """
    correct = {row["item_id"]: row["correct"] for row in asked}
    inside = set(dissected)
    rows = []
    for item in items:
        if item["answer"] is not None:
            i, right = item["item_id"], correct.get(item["item_id"])
            rows.append(
                {
                    "operation": item["operation"],
                    "answer": answer(item),
                    "questions": True,
                    "asked": i in correct,
                    "right": right is True,
                    "wrong": right is False,
                    "dissected_right": i in inside and right is True,
                    "dissected_wrong": i in inside and right is False,
                }
            )
    frame = pd.DataFrame(rows)
    frame["answer"] = pd.Categorical(frame["answer"], ANSWERS)
    frame = frame[frame["operation"].isin(set(frame.loc[frame["asked"], "operation"]))]
    table = frame.groupby(["operation", "answer"], observed=True).sum().astype(int).reset_index()
    table.insert(0, "model", model)
    return table
