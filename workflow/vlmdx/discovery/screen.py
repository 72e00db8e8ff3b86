"""Plain rules that catch known exploits before any verifier is asked (science: B, Known exploits)."""

import re
import unicodedata

from vlmdx.discovery.prompts import SPECIAL
from vlmdx.discovery.roles import Question, Validity
from vlmdx.discovery.words import near_duplicate, words

NOVEL = "novel"  # beside roles.CRITERIA: not a property of the question alone

MIN_WORDS = 2
COPIED_WORDS = 6  # so many words in a row from the instruction are no accident
MAX_ALTERNATIVES = 2  # as in GQA's choose questions (arXiv 1902.09506); more is a list of the answers

_WH = r"(?:what|which|who|whom|whose|where|when|why|how)"
_STARTS = re.compile(rf"(?:{_WH}|is|are|was|were|do|does|did|can|could|has|have)\b")
_TWO = re.compile(rf"\b(?:and|or|but|also|then)\s+(?:also\s+)?(?:(?:in|on|at|of|for)\s+)?{_WH}\b")


def screen(question: Question, instruction: str = "") -> Validity | None:
    """The verdict of the plain rules: invalid with the criterion that failed, or None to ask the verifier.

    Args:
        instruction: the questioner's prompt file, as text; copying from it is no question.
    """
    text, found = unicodedata.normalize("NFKC", question.text), words(question.text)
    if SPECIAL.search(text):
        return Validity(False, "grammatical", "holds the text of a special token")
    if len(found) < MIN_WORDS:
        return Validity(False, "grammatical", f"{len(found)} words; a question has at least {MIN_WORDS}")
    if _copied(found, words(instruction)):
        return Validity(False, "grounded", "repeats the prompt instead of asking about the image")
    if text.count("?") > 1 or _TWO.search(" ".join(found)):
        return Validity(False, "atomic", "asks two things")
    if (listed := _alternatives(text)) > MAX_ALTERNATIVES:
        return Validity(False, "atomic", f"lists {listed} answers")
    for earlier in question.earlier:
        if near_duplicate(text, earlier):
            return Validity(False, NOVEL, f"asks again: {earlier}")
    return None


def _copied(found: list[str], instruction: list[str]) -> bool:
    """The question is a run of the instruction's words, or shares a run of ``COPIED_WORDS`` words with it."""
    length = min(len(found), COPIED_WORDS)
    runs = {tuple(instruction[i : i + length]) for i in range(len(instruction) - length + 1)}
    return any(tuple(found[i : i + length]) in runs for i in range(len(found) - length + 1))


def _alternatives(text: str) -> int:
    """How many answers a question offers: "red, green or blue" is 3; 0 or 1 where it offers none.

    A part between two separators counts if it is short and starts no clause: "In the photo, is the cat black or white?"
    offers 2.
    """
    asked = text.casefold().replace("/", " or ")
    parts = [words(part) for part in re.split(r"[,;:|]|\bor\b", asked)]
    parts = [part for part in parts if part]
    middle = [p for p in parts[1:-1] if len(p) <= 3 and not _STARTS.match(p[0])]
    if re.search(r"\bor\b", asked) or len(middle) >= 2:
        return 2 + len(middle)
    return 0
