"""Scripted roles: what answerer and verifier say is a function of the question's text; calls are counted."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image
from vlmdx.discovery.roles import Answer, Judgement, Question, Validity
from vlmdx.discovery.rollouts import Asked

BLANK = Image.new("RGB", (28, 28))


def question(text: str, image_id: str = "1", earlier: tuple[str, ...] = ()) -> Question:
    return Question(image_id, BLANK, text, earlier)


def asked(text: str, image_id: str = "1", step: int = 0, turn: int = 0, sample: int = 0, **more) -> Asked:
    defaults = {
        "image_sha256": "0" * 64,
        "sample_seed": 7,
        "prompt": "Write one short question.",
        "question_logprob": -1.5,
        "question_tokens": 5,
        "finished": True,
    }
    return Asked(
        question(text, image_id, more.pop("earlier", ())), step=step, turn=turn, sample=sample, **defaults | more
    )


def embed(texts: Sequence[str]) -> np.ndarray:
    """Seeded random directions, one per text: float32 [n, 8], length 1."""
    rows = []
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        row = np.random.default_rng(seed).normal(size=8)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows, dtype=np.float32)


@dataclass
class FakeAnswerer:
    """Says ``says(text)``."""

    says: Callable[[str], str] = lambda text: "red"
    asked: list[str] = field(default_factory=list)

    def answer(self, questions):
        self.asked += [q.text for q in questions]
        return [Answer(self.says(q.text), -0.25) for q in questions]


@dataclass
class FakeVerifier:
    """``valid(text)`` and ``correct(text)``: True, False, or None for undecided."""

    valid: Callable[[str], bool | None] = lambda text: True
    correct: Callable[[str], bool | None] = lambda text: False
    asked: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)

    def validity(self, questions):
        self.asked += [q.text for q in questions]
        verdicts = [self.valid(q.text) for q in questions]
        return [Validity(v, "grounded" if v is False else None, "as scripted") for v in verdicts]

    def judge(self, questions, answers):
        self.judged += [q.text for q in questions]
        names = {True: "correct", False: "incorrect", None: "undecided"}
        return [Judgement(names[self.correct(q.text)], "blue") for q, _ in zip(questions, answers, strict=True)]
