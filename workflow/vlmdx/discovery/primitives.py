"""Taxonomy, stage 1: the elementary abilities that a question needs (arXiv 2604.04733, taxonomy)."""

from collections.abc import Callable, Iterable
from typing import Any

from PIL import Image

from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.program import primitives
from vlmdx.discovery.prompted import PromptedVerifier, Unreadable, _object
from vlmdx.discovery.prompts import fill
from vlmdx.discovery.roles import Verifier

MOST = 6  # as the prompt file asks for


def question_primitives(
    verifier: Verifier,
    template: str,
    questions: Iterable[tuple[str, str]],
    image_of: Callable[[str], Image.Image],
) -> list[dict[str, Any]]:
    """The primitives of questions: read off the oracle's query, or asked of the run's prompted verifier.

    Each text is asked once, with the first of its images: the abilities belong to the question.

    Args:
        verifier: of the run.
        template: text of ``primitives.txt``; field ``{question}``.
        questions: (image id, valid question); repeats are dropped.
        image_of: image of an id; not called for the oracle.

    Returns:
        Rows of PRIMITIVES, sorted; what could not be read has no primitives but a reason.

    Raises:
        Unread: a question that the oracle cannot read; one it judged valid can be read.
        TypeError: a verifier that can neither read nor be asked.
    """
    keys = sorted(set(questions))
    first: dict[str, str] = {}
    for image_id, text in keys:
        first.setdefault(text, image_id)
    found: dict[str, tuple[list[str] | None, str | None]]
    if isinstance(verifier, Oracle):
        found = {text: (list(primitives(verifier.read(text))), None) for text in first}
    elif isinstance(verifier, PromptedVerifier):
        found = _asked(verifier, template, first, image_of)
    else:
        raise TypeError(f"a verifier of type {type(verifier).__name__} names no primitives")
    return [
        {"image_id": image_id, "question": text, "primitives": found[text][0], "reason": found[text][1]}
        for image_id, text in keys
    ]


def read_primitives(text: str) -> list[str]:
    """The list in a reply to ``primitives.txt``: small letters, no full stop, distinct, sorted.

    Raises:
        Unreadable: it is no JSON object of exactly a list of one to six texts.
    """
    said = _object(text, {"primitives": list})["primitives"]
    if not 1 <= len(said) <= MOST or not all(isinstance(each, str) and _plain(each) for each in said):
        raise Unreadable(f"primitives is no list of 1 to {MOST} texts: {text!r:.200}")
    return sorted({_plain(each) for each in said})


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".").strip()


def _asked(
    verifier: PromptedVerifier, template: str, first: dict[str, str], image_of: Callable[[str], Image.Image]
) -> dict[str, tuple[list[str] | None, str | None]]:
    prompts = [fill(template, question=text) for text in first]
    replies = verifier.ask(prompts, [image_of(image_id) for image_id in first.values()], read_primitives)
    found: dict[str, tuple[list[str] | None, str | None]] = {}
    for text, reply in zip(first, replies, strict=True):
        try:
            found[text] = (None, reply.reason) if reply.text is None else (read_primitives(reply.text), None)
        except Unreadable as error:
            found[text] = (None, str(error))
    return found
