"""SEED-Bench (arXiv 2307.16125), v1, v2 and v2-Plus: one JSON file of four-option questions.

v1 and v2 spell the options ``choice_a`` ..., v2-Plus ``choice_A`` ...; questions on video or on several images are set
aside.
"""

import json
import string
from collections.abc import Iterator
from typing import Any

from pydantic import DirectoryPath, FilePath

from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import DatasetError, Item, Row, RowError
from vlmdx.datasets.source import Folder, guarded, need, text_id


def read(*, file: FilePath, images: DirectoryPath) -> Iterator[Row]:
    """Entries of ``questions``.

    Args:
        file: the JSON file as published.
        images: folder of the images, by ``data_id``.

    Raises:
        DatasetError: the file is not SEED-Bench JSON.
    """
    try:
        content = json.loads(file.read_text("utf-8-sig"))
        questions, kinds = content["questions"], {str(v): k for k, v in content.get("question_type", {}).items()}
        if not isinstance(questions, list):
            raise TypeError("questions is no list")
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{file}: not SEED-Bench JSON ({type(error).__name__}: {error})") from error
    files = Folder(images)
    for number, row in enumerate(questions, 1):
        key = str(row["question_id"]) if isinstance(row, dict) and "question_id" in row else None
        yield guarded(_item, row, number, file.name, files, kinds, source=file.name, position=str(number), item_id=key)


def _item(row: Any, number: int, source: str, files: Folder, kinds: dict[str, str]) -> Item:
    if not isinstance(row, dict):
        raise RowError("the question is no JSON object")
    question_id, data_id, question, gold = need(row, "question_id", "data_id", "question", "answer")
    if "video" in str(row.get("data_type", "")).lower() or "segment" in row:
        raise RowError("question about a video; only still images are supported")
    if not isinstance(data_id, str):
        raise RowError("question about several images; only one image per item is supported")
    letters = [c for c in string.ascii_lowercase if f"choice_{c}" in row or f"choice_{c.upper()}" in row]
    if letters != list(string.ascii_lowercase[: len(letters)]):
        raise RowError(f"choices {', '.join(letters)} have a gap")
    options: tuple[Any, ...] = tuple(row.get(f"choice_{c}", row.get(f"choice_{c.upper()}")) for c in letters)
    image_id, path = files.file(data_id)
    kind = row.get("question_image_type", kinds.get(str(row.get("question_type_id"))))
    return Item(
        source=source,
        position=str(number),
        item_id=text_id(question_id),
        image_id=image_id,
        image=path,
        question=question,
        options=options,
        answer=gold_index(gold, options, "letter"),
        category=kind,
    )
