"""Stand-ins for the other roles, and small runs of the demo policy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from vlmdx.demo.draw import draw
from vlmdx.demo.scene import sample_scene
from vlmdx.discovery.callbacks import Watch
from vlmdx.discovery.grpo import QuestionerTrainer
from vlmdx.discovery.job import Job, Policy
from vlmdx.discovery.log import Log
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.plan import check_batch, plan
from vlmdx.discovery.reinforce import _arguments, reinforce
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Answer, Judgement, Validity
from vlmdx.discovery.rollouts import Recorder, read_parts
from vlmdx.discovery.settings import TrainSettings
from vlmdx.images import pixel_sha256, png_bytes

DEMO = Path(__file__).parents[2] / "resources" / "models" / "qwen-demo"
POLICY = Policy(str(DEMO), options={"device": "cpu"})
IMAGES = 6
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


def train(folder, settings, judges=None, adapter=None, shown=None, first=0):
    """One run; returns the trained model and its rows."""
    shown = shown or pictures(IMAGES)
    prompts = check_batch(settings.batch_size, settings.accumulation, settings.generations, len(shown))
    steps = plan([p.image_id for p in shown], prompts, settings.questions_per_image, settings.steps + first, 0)
    recorder = Recorder(Path(folder) / "rollouts", FIXED)
    adapter = adapter or POLICY.open()
    judges = judges or panel()
    model = reinforce(adapter, judges, shown, steps[first:], settings, recorder, Path(folder), 0, first)
    return model, read_parts(Path(folder) / "rollouts").to_pylist()


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def build(adapter, shown, settings, folder, judges=None):
    """A trainer that is ready to generate."""
    prompts = settings.questions // settings.generations
    steps = plan([p.image_id for p in shown], prompts, settings.questions_per_image, settings.steps, 0)
    return QuestionerTrainer(
        adapter=adapter,
        panel=judges or panel(),
        pictures=shown,
        plan=steps,
        settings=settings,
        recorder=Recorder(Path(folder) / "rollouts", FIXED),
        args=_arguments(adapter, settings, settings.steps, Path(folder), 0),
        watch=Watch(Log(Path(folder) / "log.csv"), settings.generations, settings.patience),
        first=0,
        seed=0,
        done=[],
        peft=None,
    )
