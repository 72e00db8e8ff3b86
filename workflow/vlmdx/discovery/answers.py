"""When two short answers are the same."""

import re
from functools import cache

from num2words import num2words

from vlmdx.datasets.records import normal

_ARTICLES = frozenset({"a", "an", "the"})
_SPELLING = {"grey": "gray", "none": "0"}
_COUNTED_TO = 100


def canonical(answer: str) -> str:
    """Form in which answers are compared.

    NFKC and case as in ``datasets.records.normal``, punctuation and articles off, number words as digits, and the
    yes or no that an answer opens with for the whole of it ("Yes, it is." is "yes"). Nothing else: plural and singular
    stay different, since counting questions turn on them.
    """
    text = normal(answer).replace("\u2019", "'")
    if opening := re.match(r"(yes|no)\b(?=\s*(?:[,.;:!]|$))", text):
        return opening[1]
    text = _numbers().sub(lambda match: _digits()[match[0]], text)
    found = [_SPELLING.get(word, word) for word in re.findall(r"\w+(?:[.'-]\w+)*", text)]
    return " ".join(word for word in found if word not in _ARTICLES) or " ".join(found)


def same_answer(first: str, second: str) -> bool:
    """Whether two answers are the same in their :func:`canonical` form; an empty one is the same as none."""
    return canonical(first) == canonical(second) != ""


@cache
def _digits() -> dict[str, str]:
    return {num2words(n): str(n) for n in range(_COUNTED_TO + 1)}


@cache
def _numbers() -> re.Pattern:
    longest_first = sorted(_digits(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
