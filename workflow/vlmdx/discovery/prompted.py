"""A verifier that is a language model: which prompts it gets, and how strictly its replies are read."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from PIL import Image

from vlmdx.discovery.answers import canonical, same_answer
from vlmdx.discovery.prompts import fill
from vlmdx.discovery.roles import CRITERIA, Answer, Judgement, Question, Validity

UNKNOWN = "unknown"  # what the prompt file tells the verifier to answer where the image does not decide
_FENCE = "```"
_KEPT = 400  # characters of an unreadable reply that are kept


class Unreadable(ValueError):
    """A reply that is not what the prompt asked for; the message says what was expected, and the reply."""


@dataclass(frozen=True)
class VerifierPrompts:
    """Texts of the prompt files.

    Attributes:
        validity: each criterion in turn; field ``{question}``.
        reference: the verifier's own answer; field ``{question}``.
        judge: comparison; fields ``{question}``, ``{reference}``, ``{answer}``.
    """

    validity: str
    reference: str
    judge: str


class Reply(NamedTuple):
    """What came back for one prompt: a text, or None and why there is none."""

    text: str | None
    reason: str = ""


class Ask(Protocol):
    """Puts prompts to a model."""

    def __call__(
        self, prompts: Sequence[str], images: Sequence[Image.Image], read: Callable[[str], Any]
    ) -> list[Reply]:
        """One reply per (prompt, image), in order.

        Args:
            read: raises :class:`Unreadable` for a reply that is worth asking again for.
        """


@dataclass(frozen=True)
class PromptedVerifier:
    """Judge of questions and answers by prompts.

    Correctness takes two steps. The verifier first answers the question by itself, without seeing the answer that it
    will judge, which would sway it. If that is the same in other spelling, the answer is correct; else it compares the
    two. What it said first is the reference of the verdict.

    Anything unreadable or missing is undecided, with what was said in the detail; nothing is guessed.
    """

    ask: Ask
    prompts: VerifierPrompts

    def validity(self, questions: Sequence[Question]) -> list[Validity]:
        """One verdict per question, in order; the criterion is the first of ``CRITERIA`` that failed."""
        prompts = [fill(self.prompts.validity, question=q.text) for q in questions]
        replies = self.ask(prompts, [q.image for q in questions], read_validity)
        return [_read(reply, read_validity) or Validity(None, None, _why(reply, read_validity)) for reply in replies]

    def judge(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[Judgement]:
        """One verdict per (question, answer), in order."""
        prompts = [fill(self.prompts.reference, question=q.text) for q in questions]
        own = self.ask(prompts, [q.image for q in questions], read_reference)
        found: dict[int, Judgement] = {}
        for index, (reply, answer) in enumerate(zip(own, answers, strict=True)):
            reference = _read(reply, read_reference)
            if reference is None:
                found[index] = Judgement("undecided", None, _why(reply, read_reference))
            elif canonical(reference) == UNKNOWN:
                found[index] = Judgement("undecided", None, "the verifier cannot answer the question itself")
            elif same_answer(reference, answer.text):
                found[index] = Judgement("correct", reference, "the same in other spelling")
        left = [index for index in range(len(questions)) if index not in found]
        references = {index: read_reference(own[index].text or "") for index in left}
        prompts = [
            fill(
                self.prompts.judge,
                question=questions[index].text,
                reference=references[index],
                answer=" ".join(answers[index].text.split()),
            )
            for index in left
        ]
        replies = self.ask(prompts, [questions[index].image for index in left], read_judgement) if left else []
        for index, reply in zip(left, replies, strict=True):
            verdict = _read(reply, read_judgement) or Judgement("undecided", None, _why(reply, read_judgement))
            found[index] = Judgement(verdict.verdict, references[index], verdict.detail)
        return [found[index] for index in range(len(questions))]


def read_validity(text: str) -> Validity:
    """The verdict in a reply to ``validity.txt``.

    Raises:
        Unreadable: it is no JSON object of exactly the reason and the four criteria, each true or false.
    """
    said = _object(text, {"reason": str, **dict.fromkeys(CRITERIA, bool)})
    broken = next((name for name in CRITERIA if not said[name]), None)
    return Validity(broken is None, broken, said["reason"])


def read_reference(text: str) -> str:
    """The answer in a reply to ``reference.txt``.

    Raises:
        Unreadable: it is no JSON object of exactly the reason and a non-empty answer.
    """
    said = _object(text, {"reason": str, "answer": str})
    if not said["answer"].strip():
        raise Unreadable(f"the answer is empty: {_cut(text)}")
    return said["answer"].strip()


def read_judgement(text: str) -> Judgement:
    """The verdict in a reply to ``judge.txt``, without its reference.

    Raises:
        Unreadable: it is no JSON object of exactly the reason and one of the three verdicts.
    """
    said = _object(text, {"reason": str, "verdict": str})
    if said["verdict"] not in ("correct", "incorrect", "undecided"):
        raise Unreadable(f"the verdict is none of correct, incorrect, undecided: {_cut(text)}")
    return Judgement(said["verdict"], None, said["reason"])


def _object(text: str, types: dict[str, type]) -> dict[str, Any]:
    """The JSON object that is all of ``text``, but for one code fence around it, which many models cannot leave out."""
    body = text.strip()
    if body.startswith(_FENCE) and body.endswith(_FENCE) and len(body) > 2 * len(_FENCE):
        body = body.removeprefix(_FENCE).removesuffix(_FENCE).removeprefix("json").strip()
    try:
        said = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no JSON ({error}): {_cut(text)}") from error
    if not isinstance(said, dict) or {k: type(v) for k, v in said.items()} != types:
        expected = ", ".join(f"{name} ({kind.__name__})" for name, kind in types.items())
        raise Unreadable(f"not a JSON object of exactly {expected}: {_cut(text)}")
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _read(reply: Reply, read: Callable[[str], Any]) -> Any:
    """What ``read`` makes of a reply; None if there is none, or it is unreadable."""
    try:
        return None if reply.text is None else read(reply.text)
    except Unreadable:
        return None


def _why(reply: Reply, read: Callable[[str], Any]) -> str:
    """Why :func:`_read` gave None."""
    if reply.text is None:
        return reply.reason
    try:
        read(reply.text)
    except Unreadable as error:
        return str(error)
    raise AssertionError("the reply can be read")


def _cut(text: str) -> str:
    return repr(text if len(text) <= _KEPT else text[:_KEPT] + "...")
