"""Reading source files: rows that break are set aside one by one, paths stay inside the data set's folder."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from vlmdx.datasets.records import DatasetError, Item, Rejected, RowError, brief


def guarded(make: Callable[..., Item], *given: Any, source: str, position: str, item_id: str | None) -> Item | Rejected:
    """The item that ``make(*given)`` builds, or the rejected row that its :class:`RowError` asks for."""
    try:
        return make(*given)
    except RowError as error:
        return Rejected(source, position, item_id, str(error))


def need(row: dict[str, Any], *keys: str) -> list[Any]:
    """Values of ``keys``; :class:`RowError` names the ones that are absent."""
    missing = [key for key in keys if key not in row]
    if missing:
        raise RowError(f"missing {', '.join(missing)}")
    return [row[key] for key in keys]


def text_id(value: Any) -> str:
    """An id as text; whole numbers are written out, anything else is a :class:`RowError`."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError(f"id {brief(value)} is neither text nor a whole number")
    return str(value)


class Folder:
    """A data set's folder; hands out paths of files inside it and of no others."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._known: dict[str, Path] = {}

    def file(self, name: Any) -> tuple[str, Path]:
        """Normalised name (``./a.jpg`` is ``a.jpg``) and path of an existing file.

        Raises:
            RowError: no relative path, no file there, or a path that leaves the folder (``..``, symbolic link).
        """
        if not isinstance(name, str) or not name or "\0" in name:
            raise RowError(f"image {brief(name)} is no file name")
        clean = PurePosixPath(name)
        if clean.is_absolute() or ".." in clean.parts:
            raise RowError(f"image {brief(name)} leaves the data set's folder; use a path inside {self._root.name}/")
        key = str(clean)
        if key not in self._known:
            try:
                path = (self._root / key).resolve(strict=True)
            except (OSError, RuntimeError) as error:  # absent, too long, a loop of links
                raise RowError(f"image {brief(name)} does not exist in {self._root.name}/; add it") from error
            except ValueError as error:  # characters the file system cannot hold
                raise RowError(f"image {brief(name)} is no file name") from error
            if not path.is_relative_to(self._root):
                raise RowError(f"image {brief(name)} is a link out of {self._root.name}/; copy the file into it")
            self._known[key] = path
        return key, self._known[key]


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | RowError]]:
    """Line number (from 1) and object of each line; blank lines are no rows.

    Lines end at "\\n" only: U+2028 inside a text does not split it.
    """
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                row = json.loads(raw.decode(), object_pairs_hook=_unique)
            except RowError as error:
                yield number, error
            except (ValueError, RecursionError) as error:
                yield number, RowError(f"no JSON line: {error!s:.120}")
            else:
                yield number, row if isinstance(row, dict) else RowError("the line is no JSON object")


def json_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Key and value of each entry of one large JSON object, decoded one by one: the text alone is in memory.

    GQA's balanced training questions are 943,000 entries; as Python objects they would need ten times the file's size.

    Raises:
        DatasetError: the file is not one JSON object, or breaks off.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read as UTF-8 ({error})") from error
    decoder = json.JSONDecoder()

    def skip(at: int) -> int:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        return at

    def expect(marks: str, at: int) -> int:
        at = skip(at)
        if text[at : at + 1] not in tuple(marks):
            raise DatasetError(f"{path}: not one JSON object, {marks!r} expected at character {at}; get the file again")
        return at

    at = skip(expect("{", 0) + 1)
    if text[at : at + 1] == "}":
        return
    while True:
        try:
            key, at = decoder.raw_decode(text, expect('"', at))
            value, at = decoder.raw_decode(text, skip(expect(":", at) + 1))
        except (json.JSONDecodeError, RecursionError) as error:
            raise DatasetError(f"{path}: broken JSON ({error}); get the file again") from error
        yield key, value
        at = expect(",}", at)
        if text[at] == "}":
            return
        at = skip(at + 1)


def table_rows(path: Path, delimiter: str, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str] | RowError]]:
    """Row number (from 1, without the header) and cells of a CSV or TSV file, however long the cells.

    A BOM is no part of the first column's name; quotes and newlines inside cells are kept.

    Raises:
        DatasetError: the header lacks one of ``columns``.
    """
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # base64 photos exceed the default of 131,072 characters
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            header = next(reader, [])
            missing = [name for name in columns if name not in header]
            if missing or len(set(header)) < len(header):
                raise DatasetError(
                    f"{path}: header {brief(header)} lacks {missing} or repeats a name; expected {columns}"
                )
            number = 0
            while True:
                number += 1
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield number, RowError(f"unreadable line {reader.line_num}: {error}")
                    continue
                if not cells:
                    number -= 1  # an empty line is no row
                elif len(cells) != len(header):
                    yield number, RowError(f"{len(cells)} cells, the header has {len(header)} (line {reader.line_num})")
                else:
                    yield number, dict(zip(header, cells, strict=True))
    finally:
        csv.field_size_limit(limit)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [key for key, _ in pairs]
        raise RowError(f"key {brief(next(k for k in names if names.count(k) > 1))} stands twice in one object")
    return row
