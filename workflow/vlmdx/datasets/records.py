"""What an importer yields, one record per source row, and the two errors of this room."""

import json
import reprlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_OPTIONS = 26  # letters A to Z

# The operations of a GQA question (arXiv 2607.16094, section 3); the rule that assigns them is in gqa_program.py.
OPERATIONS = ("select", "relate", "verify", "exist", "query", "choose", "filter")


class DatasetError(ValueError):
    """A data set that cannot be imported at all: wrong settings, unreadable source, nothing left."""


class RowError(ValueError):
    """One source row that has to be set aside; the message is the reason and, where there is one, the remedy."""


@dataclass(frozen=True, slots=True)
class Box:
    """An annotated object; pixels of the upright image at the size the annotator saw, origin top left."""

    object_id: str
    name: str
    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Item:
    """A question that is valid as far as it can be without its image.

    Attributes:
        source: name of the file the row came from.
        position: row number (from 1) or key within the source.
        item_id: id within the data set, without the data set's slug.
        image_id: the same for the image; items with one image share it.
        image: path of the image file, or the file's content.
        question: text without options.
        options: 2 to 26 different texts in shown order.
        answer: index of the gold option; None where the source has no answers.
        category: the source's own category.
        operation: one of ``OPERATIONS``.
        program: functional program as JSON.
        objects: annotated objects that the question is about; None where the source annotates none.
        annotated_size: width and height of the image that was annotated; None if the source does not say.

    Raises:
        RowError: the row cannot be a multiple-choice item.
    """

    source: str
    position: str
    item_id: str
    image_id: str
    image: Path | bytes
    question: str
    options: tuple[str, ...]
    answer: int | None
    category: str | None = None
    operation: str | None = None
    program: str | None = None
    objects: tuple[Box, ...] | None = None
    annotated_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        optional = [t for t in (self.category, self.operation, self.program) if t is not None]
        for text in (self.item_id, self.image_id, self.question, *self.options, *optional):
            check_text(text)
        if not self.item_id or not self.question.strip():
            raise RowError("the id or the question is empty")
        check_options(self.options)
        if self.answer is not None and not 0 <= self.answer < len(self.options):
            raise RowError(f"gold index {self.answer} is none of the {len(self.options)} options")
        if self.operation is not None and self.operation not in OPERATIONS:
            raise RowError(f"operation {brief(self.operation)} is none of {', '.join(OPERATIONS)}")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A source row set aside; ``item_id`` (without slug) where the row got that far."""

    source: str
    position: str
    item_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Undrawn:
    """``count`` good source rows that the importer's own draw left out: counted, but no rejects."""

    count: int


Row = Item | Rejected | Undrawn

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 100
_BRIEF.maxlong = 40


def brief(value: Any) -> str:
    """``value`` for a reason: as Python writes it, shortened in its middle, quotes closed.

    Everything in a reason that differs from row to row goes through this, so that ``account.kind`` can take it out.
    """
    return _BRIEF.repr(value)


def make_box(object_id: str, name: Any, numbers: Sequence[Any]) -> Box:
    """A box of ``x, y, w, h``; :class:`RowError` unless they are finite numbers and id and name are text."""
    check_text(object_id)
    check_text(name)
    if any(isinstance(v, bool) or not isinstance(v, int | float) or not abs(v) < 1e9 for v in numbers):
        raise RowError(f"the box of object {brief(object_id)} is not four numbers of pixels: {brief(numbers)}")
    x, y, w, h = (float(v) for v in numbers)
    return Box(object_id, name, x, y, w, h)


def normal(text: str) -> str:
    """Form in which option texts and gold texts are compared: NFKC, case folded, outer white space off.

    NFKC makes full-width letters ASCII and joins accents. Articles and inner words stay: "A" must remain a letter.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


def program_json(program: list[Any]) -> str:
    """A functional program as JSON; :class:`RowError` if it holds what JSON cannot say (NaN), or is too deep."""
    try:
        return json.dumps(program, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise RowError("the program holds NaN or an infinity, or is nested too deeply") from error


def check_text(text: Any) -> None:
    """Raise :class:`RowError` unless ``text`` is a string that UTF-8 can hold."""
    if not isinstance(text, str):
        raise RowError(f"{brief(text)} is no text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RowError(f"{brief(text)} is not valid Unicode; save the source as UTF-8") from error


def check_options(options: tuple[str, ...]) -> None:
    """Raise :class:`RowError` unless there are 2 to 26 options, none empty, all different after :func:`normal`."""
    if not 2 <= len(options) <= MAX_OPTIONS:
        raise RowError(f"{len(options)} options; a multiple-choice item needs 2 to {MAX_OPTIONS}")
    seen: dict[str, int] = {}
    for index, option in enumerate(options):
        key = normal(option)
        if not key:
            raise RowError(f"option {index} is empty")
        if key in seen:
            raise RowError(f"options {seen[key]} and {index} are the same: {brief(option)}")
        seen[key] = index
