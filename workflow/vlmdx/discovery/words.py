"""A question as its words: what counts as "the same words" in the screen and in the lexical diversity."""

import re
import unicodedata
from functools import lru_cache

# Words that can go or change without changing what is asked.
_FILLERS = frozenset(
    {"a", "an", "the", "any", "some", "of", "that", "which", "what", "this", "these", "those", "there", "please"}
)
_BE = frozenset({"is", "are", "was", "were", "be", "do", "does", "did", "has", "have", "can", "could"})
_SPELLING = {"colour": "color", "grey": "gray", "centre": "center"}


# Chinese characters and Japanese kana stand for themselves: these scripts put no spaces between words.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff]"
_WORD = re.compile(rf"{_UNSPACED}|(?:(?!{_UNSPACED})\w)+(?:['-](?:(?!{_UNSPACED})\w)+)*")


def words(text: str) -> list[str]:
    """Lower-case words and numbers of ``text`` in order, punctuation off, after NFKC."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    return [word.removesuffix("'s") for word in _WORD.findall(plain)]


@lru_cache(maxsize=1 << 16)
def prefix(text: str) -> str:
    """First two words, by which the lexical term of Δ and lexical diversity count (ours: two)."""
    return " ".join(words(text)[:2])


def near_duplicate(first: str, second: str) -> bool:
    """Whether two questions ask the same in nearly the same words.

    They do if they are of one kind (yes/no, open, how many, ...) and have the same content words in the same order, or
    the same one or two content words in any order: "What is the colour of the circle?" repeats "What color is the
    circle?". A threshold on the cosine cannot decide this: with all-MiniLM-L6-v2 that pair has .978, and "What color is
    the circle above the square?" has .991 to the same question with "below".
    """
    (kind, content), (other_kind, other) = _content(first), _content(second)
    if kind != other_kind:
        return False
    return content == other or (len(content) <= 2 and sorted(content) == sorted(other))


def _content(text: str) -> tuple[str, list[str]]:
    """Kind of question, and its content words with plural endings off."""
    found = words(text)
    kept = [_SPELLING.get(w, w) for w in found if w not in _FILLERS | _BE]
    kind = "open"
    if found and found[0] in _BE:  # "is there a red circle" is not "is the circle red"
        kind = "exist" if found[1:2] == ["there"] else "yes/no"
    elif found and found[0] not in _FILLERS:
        kind = found[0]  # how, where, who, why, or a command
    return kind, [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in kept]
