"""MMVP (arXiv 2401.06209): 300 two-option questions, in pairs about photos that CLIP cannot tell apart."""

import re
from collections.abc import Iterator

from pydantic import DirectoryPath

from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import DatasetError, Item, Row, RowError, brief
from vlmdx.datasets.source import Folder, guarded, table_rows

COLUMNS = ("Question", "Options", "Correct Answer")


def read(*, folder: DirectoryPath) -> Iterator[Row]:
    """Rows of ``Questions.csv``; the photo of question N is ``MMVP Images/N.jpg``.

    Args:
        folder: the unpacked data set.

    Raises:
        DatasetError: no ``Questions.csv``, or a column is missing.
    """
    questions = folder / "Questions.csv"
    if not questions.is_file():
        raise DatasetError(f"{questions} does not exist; `folder` must hold Questions.csv and 'MMVP Images/'")
    files = Folder(folder / "MMVP Images")
    for number, row in table_rows(questions, ",", COLUMNS):
        # The number's column is called "Index" or, in some copies, "lndex".
        key = next(iter(row.values())) if isinstance(row, dict) else None
        yield guarded(_item, row, number, files, source=questions.name, position=str(number), item_id=key)


def _item(row: dict[str, str] | RowError, number: int, files: Folder) -> Item:
    if isinstance(row, RowError):
        raise row
    index = next(iter(row.values())).strip()
    if not re.fullmatch(r"[0-9]{1,9}", index):
        raise RowError(f"question number {brief(index)} is no number")
    image_id, path = files.file(f"{index}.jpg")
    options = split_options(row["Options"])
    return Item(
        source="Questions.csv",
        position=str(number),
        item_id=index,
        image_id=image_id,
        image=path,
        question=row["Question"].strip(),
        options=options,
        answer=gold_index(row["Correct Answer"], options, "letter"),
    )


def split_options(text: str) -> tuple[str, ...]:
    """``"(a) Open (b) Closed"`` as two texts; :class:`RowError` unless the letters run a, b, c, ..."""
    head, *parts = re.split(r"\(([a-z])\)", text)
    letters, options = parts[::2], tuple(p.strip() for p in parts[1::2])
    if head.strip() or letters != [chr(ord("a") + i) for i in range(len(letters))]:
        raise RowError(f"options {brief(text)} are not of the form '(a) ... (b) ...'")
    return options
