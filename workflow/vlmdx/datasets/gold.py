"""Which option a stored gold answer means, in each spelling that data sets use."""

import re
import unicodedata
from typing import Any, Literal

from vlmdx.datasets.records import RowError, brief, normal

Form = Literal["auto", "index", "index1", "letter", "text"]

# C, c, (C), [C], C. and C) name an option; "Cat" does not.
_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")


def gold_index(value: Any, options: tuple[str, ...], form: Form) -> int:
    """Index of the one option that ``value`` means.

    Args:
        value: the stored answer, str or int.
        options: texts of the row, in shown order.
        form: what the source declares: ``index`` (from 0), ``index1`` (from 1), ``letter``, ``text`` (compared as
            ``records.normal`` says), or ``auto``: each reading but ``index1`` is tried, and all that fit must agree.

    Raises:
        RowError: the value hits no option, or in ``auto`` more than one.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError(f"gold answer {brief(value)} is neither text nor a whole number")
    readings = {"index": _index, "index1": lambda v, o: _index(v, o, first=1), "letter": _letter, "text": _text}
    tried = ("index", "letter", "text") if form == "auto" else (form,)
    hits = {name: hit for name in tried if (hit := readings[name](value, options)) is not None}
    if len(set(hits.values())) == 1:
        return next(iter(hits.values()))
    if hits:
        said = " and ".join(f"option {hit} as {name}" for name, hit in hits.items())
        raise RowError(f"gold answer {brief(value)} is ambiguous, {said}; declare answer_form")
    raise RowError(f"gold answer {brief(value)} is none of the {len(options)} options (read as {', '.join(tried)})")


def _index(value: str | int, options: tuple[str, ...], first: int = 0) -> int | None:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]{1,9}", text := _plain(value)):
            return None
        value = int(text)
    return value - first if first <= value < first + len(options) else None


def _letter(value: str | int, options: tuple[str, ...]) -> int | None:
    found = _LETTER.fullmatch(_plain(value)) if isinstance(value, str) else None
    index = ord(found.group(1).upper()) - ord("A") if found else -1
    return index if 0 <= index < len(options) else None


def _text(value: str | int, options: tuple[str, ...]) -> int | None:
    # Options are different after `normal` (records.check_options), so at most one is hit.
    keys = [normal(option) for option in options]
    return keys.index(normal(str(value))) if normal(str(value)) in keys else None


def _plain(value: str) -> str:
    return unicodedata.normalize("NFKC", value).strip()
