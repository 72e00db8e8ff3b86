"""MMBench (arXiv 2307.06281) as TSV: photos as base64 or by reference, circular copies with index from 1,000,000."""

import base64
import binascii
import re
import string
from collections.abc import Iterator

from pydantic import FilePath

from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import Item, Row, RowError, brief
from vlmdx.datasets.source import guarded, table_rows

CIRCULAR = 1_000_000  # the copies of row N, with options moved on, are N + 1e6, N + 2e6, ...
REFERENCE = 64  # longest image cell that is the index of another row instead of base64

Cells = dict[str, str]


def read(*, file: FilePath) -> Iterator[Row]:
    """Base rows as items; circular copies are set aside, because they ask the same question of the same photo again.

    An empty option cell means that the row has fewer options (letters close up). A non-empty hint stands before the
    question. The whole file is kept in memory: a row may refer to a photo in a later one.

    Args:
        file: the TSV.
    """
    rows = list(table_rows(file, "\t", ("index", "question", "image", "A", "B")))
    photos = {
        row["index"].strip(): row["image"]
        for _, row in rows
        if isinstance(row, dict) and len(row["image"].strip()) > REFERENCE
    }
    for number, row in rows:
        key = row["index"].strip() if isinstance(row, dict) else None
        yield guarded(_item, row, number, file.name, photos, source=file.name, position=str(number), item_id=key)


def _item(row: Cells | RowError, number: int, source: str, photos: Cells) -> Item:
    if isinstance(row, RowError):
        raise row
    index = row["index"].strip()
    if not re.fullmatch(r"[0-9]{1,12}", index):
        raise RowError(f"index {brief(index)} is no number")
    if int(index) >= CIRCULAR:
        raise RowError(f"circular copy of {int(index) % CIRCULAR}")
    cells = tuple(row.get(letter, "") for letter in string.ascii_uppercase)
    shown = [place for place, cell in enumerate(cells) if cell.strip()]
    options = tuple(cells[place] for place in shown)
    answer = None
    if "answer" in row:
        column = gold_index(row["answer"], cells, "letter")  # the letter names a column, empty ones included
        if column not in shown:
            raise RowError(f"gold answer {brief(row['answer'])} is an empty option")
        answer = shown.index(column)
    image_id, image = _photo(row["image"].strip(), index, photos)
    hint = row.get("hint", "").strip()
    return Item(
        source=source,
        position=str(number),
        item_id=index,
        image_id=image_id,
        image=image,
        question=f"{hint}\n{row['question']}" if hint else row["question"],
        options=options,
        answer=answer,
        category=row.get("category") or None,
    )


def _photo(cell: str, index: str, photos: Cells) -> tuple[str, bytes]:
    """Id and content of a row's photo: its own, or that of the row it refers to."""
    owner = index if len(cell) > REFERENCE else cell
    if owner not in photos:
        raise RowError(f"image refers to row {brief(owner)}, which holds no image; get the file again")
    try:
        return owner, base64.b64decode("".join(photos[owner].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RowError(f"the image of row {brief(owner)} is no base64 ({error}); get the file again") from error
