"""BLINK (arXiv 2404.12390) as JSON lines: idx, image, question, choices, answer "(A)"."""

from collections.abc import Iterator
from typing import Any

from pydantic import FilePath

from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import Item, Row, RowError, brief
from vlmdx.datasets.source import Folder, guarded, json_lines, need, text_id


def read(*, file: FilePath) -> Iterator[Row]:
    """Rows of one BLINK task; keys that other releases add (prompt, explanation, ...) are not used.

    Args:
        file: the JSON lines; image paths are relative to its folder.
    """
    files = Folder(file.parent)
    for number, row in json_lines(file):
        key = str(row["idx"]) if isinstance(row, dict) and "idx" in row else None
        yield guarded(_item, row, number, file.name, files, source=file.name, position=str(number), item_id=key)


def _item(row: dict[str, Any] | RowError, number: int, source: str, files: Folder) -> Item:
    if isinstance(row, RowError):
        raise row
    idx, image, question, choices, answer = need(row, "idx", "image", "question", "choices", "answer")
    if not isinstance(choices, list):
        raise RowError(f"choices {brief(choices)} are no list")
    image_id, path = files.file(image)
    options = tuple(choices)
    return Item(
        source=source,
        position=str(number),
        item_id=text_id(idx),
        image_id=image_id,
        image=path,
        question=question,
        options=options,
        # The test split, whose answers the authors keep, says "hidden".
        answer=None if answer == "hidden" else gold_index(answer, options, "letter"),
        category=row.get("sub_task"),
    )
