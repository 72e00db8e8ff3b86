"""Who takes part in discovery, and what they say to each other (arXiv 2604.04733, section 3).

The questioner writes a question about an image, the verifier says whether it is valid, the frozen answerer answers
valid ones, the verifier says whether that was right. Everything is asked in lists, so that a model sees batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from PIL import Image

# V = 1 iff a question has all of these (stated). The screen adds one of ours, "novel": repeats no earlier question.
CRITERIA = ("grammatical", "atomic", "grounded", "objective")


@dataclass(frozen=True)
class Question:
    """A question about an image.

    Attributes:
        image_id: as in images.parquet.
        image: RGB.
        text: what the questioner wrote, stripped; may be empty.
        earlier: the questions that it had asked about this image before, oldest first.
    """

    image_id: str
    image: Image.Image
    text: str
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Validity:
    """The verifier on a question.

    Attributes:
        valid: None where it could not be decided (a dead endpoint, an unreadable verdict).
        criterion: the first criterion that failed, one of `CRITERIA`; None if valid or undecided.
        detail: why, in words.
    """

    valid: bool | None
    criterion: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """What the answerer said, and the sum of its tokens' log-probabilities, nats."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Judgement:
    """The verifier on an answer.

    Attributes:
        verdict: undecided counts neither as right nor as failed.
        reference: the right answer, where the verifier knows it.
        detail: why, in words.
    """

    verdict: Literal["correct", "incorrect", "undecided"]
    reference: str | None = None
    detail: str = ""


class Answerer(Protocol):
    """The model under test, frozen."""

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order; the same whatever the company in the list."""


class Verifier(Protocol):
    """Judge of questions and answers, frozen."""

    def validity(self, questions: Sequence[Question]) -> list[Validity]:
        """One verdict per question, in order."""

    def judge(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[Judgement]:
        """One verdict per (question, answer), in order; asked about valid questions only."""
