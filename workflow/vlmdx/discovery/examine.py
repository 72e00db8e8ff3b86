"""Validity, then the answer of valid questions, then its correctness: the path of every question of every method."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vlmdx.discovery.roles import Answer, Answerer, Judgement, Question, Validity, Verifier
from vlmdx.discovery.screen import screen

T = TypeVar("T")


@dataclass(frozen=True)
class Examined:
    """A question with all that was said about it; ``answer`` and ``judgement`` are None unless it is valid."""

    question: Question
    validity: Validity
    answer: Answer | None = None
    judgement: Judgement | None = None

    @property
    def valid(self) -> bool | None:
        """V; None = undecided."""
        return self.validity.valid

    @property
    def correct(self) -> bool | None:
        """C; None = not asked, or undecided."""
        if self.judgement is None or self.judgement.verdict == "undecided":
            return None
        return self.judgement.verdict == "correct"

    @property
    def failed(self) -> bool:
        """Valid, and answered wrongly."""
        return self.valid is True and self.correct is False


def examine(
    questions: Sequence[Question], answerer: Answerer, verifier: Verifier, instruction: str = ""
) -> list[Examined]:
    """Put questions to answerer and verifier.

    The screen goes first: what it refuses reaches nobody. The answerer is asked valid questions only, never invalid or
    undecided ones.

    Args:
        instruction: the questioner's prompt file, as text, for :func:`vlmdx.discovery.screen.screen`.

    Returns:
        One record per question, in order.

    Raises:
        ValueError: answerer or verifier gave another number of replies than it was asked for.
    """
    verdicts = [screen(question, instruction) for question in questions]
    asked = [question for question, verdict in zip(questions, verdicts, strict=True) if verdict is None]
    judged = iter(_ask("verifier.validity", verifier.validity, asked))
    validities = [next(judged) if verdict is None else verdict for verdict in verdicts]

    valid = [q for q, validity in zip(questions, validities, strict=True) if validity.valid is True]
    answers = _ask("answerer.answer", answerer.answer, valid)
    judgements = _ask("verifier.judge", verifier.judge, valid, answers)
    said = iter(zip(answers, judgements, strict=True))
    return [
        Examined(question, validity, *(next(said) if validity.valid is True else ()))
        for question, validity in zip(questions, validities, strict=True)
    ]


def _ask(who: str, ask: Callable[..., list[T]], questions: Sequence[Question], *more: Sequence) -> list[T]:
    if not questions:
        return []
    replies = ask(questions, *more)
    if len(replies) != len(questions):
        raise ValueError(f"{who} gave {len(replies)} replies to {len(questions)} questions; one each is needed")
    return replies
