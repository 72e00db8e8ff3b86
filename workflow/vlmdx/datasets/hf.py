"""Parquet with images inside, as the Hugging Face hub stores it: a column mapping instead of an importer of its own."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import DirectoryPath, FilePath

from vlmdx.datasets.gold import Form, gold_index
from vlmdx.datasets.records import DatasetError, Item, Row, RowError, brief, check_options, check_text
from vlmdx.datasets.source import Folder, guarded, text_id

BATCH = 32  # rows in memory at a time, images included


def read(
    *,
    file: FilePath | DirectoryPath,
    options: str | list[str],
    image: str = "image",
    question: str = "question",
    answer: str | None = "answer",
    answer_form: Form = "auto",
    id: str | None = None,
    category: str | None = None,
) -> Iterator[Row]:
    """Rows of one Parquet file, or of all shards in a folder in order of their names; streamed.

    Args:
        file: the Parquet file, or a folder of ``*.parquet``.
        options: a list column (or one with a JSON list as text), or one column per option; NULL ones are left out.
        image: column of {bytes, path} or of bytes; a path is taken relative to the Parquet file's folder.
        question: text column.
        answer: column of the gold answer; None if the data have no answers.
        answer_form: how it names the option, see ``gold.gold_index``.
        id: column of unique ids; None numbers the rows from 0.
        category: text column; None leaves it open.

    Raises:
        DatasetError: not a Parquet file, or a named column is absent.
    """
    columns = {"image": image, "question": question, "answer": answer, "id": id, "category": category}
    several = options if isinstance(options, list) else [options]
    wanted = list(dict.fromkeys(name for name in (*columns.values(), *several) if name is not None))
    shards = sorted(file.glob("*.parquet")) if file.is_dir() else [file]
    number = 0
    for shard in shards:
        files = Folder(shard.parent)
        for row in _rows(shard, wanted):
            given = {key: row[name] for key, name in columns.items() if name is not None}
            given["options"] = [row[name] for name in several] if isinstance(options, list) else row[options]
            key = str(given.get("id", number))
            yield guarded(
                _item, given, key, number, shard.name, files, answer_form,
                source=shard.name, position=str(number), item_id=key,
            )  # fmt: skip
            number += 1


def _rows(shard: Path, wanted: list[str]) -> Iterator[dict[str, Any]]:
    try:
        with pq.ParquetFile(shard) as table:
            if missing := [name for name in wanted if name not in table.schema_arrow.names]:
                raise DatasetError(f"{shard}: no column {missing}; it has {table.schema_arrow.names}")
            for batch in table.iter_batches(batch_size=BATCH, columns=wanted):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{shard}: not a readable Parquet file ({error})") from error


def _item(row: dict[str, Any], key: str, number: int, source: str, files: Folder, form: Form) -> Item:
    options = _options(row["options"])
    image_id, image = _image(row["image"], files)
    gold = row.get("answer")
    return Item(
        source=source,
        position=str(number),
        item_id=text_id(row["id"]) if "id" in row else key,
        image_id=image_id,
        image=image,
        question=row["question"],
        options=options,
        answer=None if gold is None else gold_index(gold, options, form),
        category=row.get("category"),
    )


def _options(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowError(f"options {brief(value)} are no JSON list") from error
    if not isinstance(value, list):
        raise RowError(f"options {brief(value)} are no list")
    options = tuple(option for option in value if option is not None)
    for option in options:
        check_text(option)
    check_options(options)
    return options


def _image(value: Any, files: Folder) -> tuple[str, Path | bytes]:
    """Id and source of an image; equal bytes are one image."""
    content = value.get("bytes") if isinstance(value, dict) else value
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()[:32], content
    if isinstance(value, dict) and value.get("path"):
        return files.file(value["path"])
    raise RowError("the row has no image")
