"""Fill the prompt files of discovery, and clean what comes back."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

# <image>, <|image_pad|>, <IMG_CONTEXT>, </s>, [IMG], [INST]: text that a tokenizer may read as a special token.
SPECIAL = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z][A-Z_]{1,30}\]")

_FIELD = re.compile(r"\{(question|reference|answer|earlier|mistakes)\}")
_LABEL = re.compile(r"^(?:(?:question|q)\s*\d*\s*[:.)]|\d+\s*[.)]|[-*])\s+", re.IGNORECASE)


def fill(template: str, **fields: str) -> str:
    """Fill the fields of a prompt file in one pass, never by ``str.format``: a filled text may itself hold braces.

    A paragraph (between blank lines) with an empty list, ``{earlier}`` or ``{mistakes}``, is left out, heading and
    all. What a model wrote goes in through :func:`plain`.

    Raises:
        ValueError: the file lacks one of ``fields``, or has one that is not given.
    """
    found = set(_FIELD.findall(template))
    if found != set(fields):
        raise ValueError(
            f"prompt file {template.strip()[:40]!r}...: has the fields {sorted(found)}, expected {sorted(fields)}"
        )
    empty = [name for name in ("earlier", "mistakes") if fields.get(name) == ""]
    paragraphs = re.split(r"\n[ \t]*\n", template.strip())
    kept = [p for p in paragraphs if not any("{" + name + "}" in p for name in empty)]
    return _FIELD.sub(lambda match: plain(fields[match[1]]), "\n\n".join(kept))


def questioner_prompt(template: str, earlier: Sequence[str], mistakes: Sequence[str] = ()) -> str:
    """The questioner's user turn.

    Args:
        template: text of ``questioner.txt`` (field ``{earlier}``) or ``conme.txt`` (``{mistakes}`` too).
        earlier: what it asked about this image before, oldest first; shown one per line.
        mistakes: questions that the answerer got wrong on training images; only for a template with that field.

    Raises:
        ValueError: the template lacks a field, or mistakes are given to one that has no place for them.
    """
    fields = {"earlier": _lines(earlier)}
    if mistakes or "{mistakes}" in template:
        fields["mistakes"] = _lines(mistakes)
    return fill(template, **fields)


def clean_question(text: str, specials: Iterable[str] = ()) -> str:
    """What a model wrote, as one line: tokens that end a turn, labels and outer quotation marks off.

    Args:
        specials: texts of the tokens that end a turn, or pad. Image tokens are no such: a question that holds them is
            kept as it is, for the screen to refuse.
    """
    for special in specials:
        text = text.replace(special, " ")
    text = " ".join(unicodedata.normalize("NFC", text).split())
    text = _LABEL.sub("", text)
    for left, right in ('""', "''", "“”", "``"):
        if len(text) > 2 and text[0] == left and text[-1] == right and left not in text[1:-1]:
            text = text[1:-1].strip()
    return text


def plain(text: str) -> str:
    """``text`` with nothing in it that a tokenizer could read as an image or other special token.

    Raw, one such word in a question or an answer changes the number of image tokens of the prompt it is put into, or
    ends its turn.
    """
    while SPECIAL.search(text):  # one may be left when the one inside it is gone
        text = SPECIAL.sub(lambda match: f"({match[0][1:-1].strip('|')})", text)
    return text


def _lines(questions: Sequence[str]) -> str:
    return "\n".join(" ".join(question.split()) for question in questions if question.strip())
