"""Stand-ins for the other roles, and small runs of the demo policy."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vlmdx.demo.draw import draw
from vlmdx.demo.scene import sample_scene
from vlmdx.discovery.methods import Job, Policy
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Answer, Judgement, Validity
from vlmdx.discovery.settings import TrainSettings
from vlmdx.images import pixel_sha256, png_bytes

DEMO = Path("resources/models/qwen-demo")
POLICY = Policy(str(DEMO), options={"device": "cpu"})
INSTRUCTION = "Ask one short question about the image.\n\nNot again:\n{earlier}\n"
FIXED = {"run": "r", "method": "rl", "seed": 0, "phase": "train"}
# The demo answerer says single words; at this temperature it says many, which give the stand-ins something to judge.
SMALL = TrainSettings(
    steps=4,
    batch_size=4,
    accumulation=2,
    generations=4,
    questions_per_image=2,
    max_tokens=6,
    temperature=4.0,
    learning_rate=1e-3,
    save_every=2,
)


def pictures(count):
    shown = [draw(0, sample_scene(0, index)) for index in range(count)]
    return [Picture(f"demo:{i}", pixel_sha256(rgb), png_bytes(rgb)) for i, rgb in enumerate(shown)]


def embed(texts):
    """Vectors from letter counts: other texts, other directions."""
    made = np.array([[1 + text.count(letter) for letter in "aeiorst"] for text in texts], dtype=np.float64)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


class Yes:
    """Answers yes."""

    def answer(self, questions):
        return [Answer("yes", -0.5)] * len(questions)


class Judge:
    """Judge of fixed opinions: ``valid`` and ``correct`` are functions of a question's text."""

    def __init__(self, valid, correct):
        self.valid, self.correct = valid, correct

    def validity(self, questions):
        verdicts = [self.valid(question.text) for question in questions]
        return [Validity(v, "atomic" if v is False else None, "stand-in") for v in verdicts]

    def judge(self, questions, answers):
        names = {True: "correct", False: "incorrect", None: "undecided"}
        return [Judgement(names[self.correct(question.text)], "no", "stand-in") for question in questions]


def panel(valid=lambda text: len(text) % 3 > 0, correct=lambda text: len(text) % 2 == 0, **settings):
    return Panel(Yes(), Judge(valid, correct), embed, RewardSettings(**settings), INSTRUCTION)


def job(folder, method="rl", seed=0, identity="x"):
    return Job(method, "r", seed, Path(folder), identity)


def small(**changes):
    return replace(SMALL, **changes)
