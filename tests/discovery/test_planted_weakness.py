"""An answerer that is wrong on one skill only is found out: GRPO moves to that skill, and the failure modes name it.

The answerer knows the scene graph, is right on everything but counts above two, and now and then wrong at random, so
that there is something else to find.
"""

import hashlib

import numpy as np
import pandas as pd
import pytest
from vlmdx.demo.draw import draw
from vlmdx.demo.scene import sample_scene, scene_graph
from vlmdx.discovery.failure_modes import evidence, failure_modes
from vlmdx.discovery.finetune import FinetuneSettings
from vlmdx.discovery.job import Job, Policy
from vlmdx.discovery.methods import ask_held_out, train_questioner
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.program import primitives
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Answer
from vlmdx.discovery.settings import TrainSettings
from vlmdx.images import png_bytes

from tests.workflow.project import ROOT

SCENES = [sample_scene(0, index) for index in range(120)]
ORACLE = Oracle({scene.image_id: scene_graph(scene) for scene in SCENES})
PICTURES = [
    Picture(scene.image_id, hashlib.sha256(draw(0, scene)).hexdigest(), png_bytes(draw(0, scene))) for scene in SCENES
]
LARGE = ("three", "four")
SLIP = 0.05  # share of other questions answered wrongly


class CannotCountAboveTwo:
    def answer(self, questions):
        return [Answer(self._word(question), 0.0) for question in questions]

    def _word(self, question):
        query, executed = ORACLE.run(question)
        if query.form == "count":
            return "two" if executed.answer in LARGE else executed.answer
        slips = hashlib.sha256(f"{question.image_id} {question.text}".encode()).digest()[0] / 256 < SLIP
        return "nothing" if slips else executed.answer


def embed(texts):
    """Words as a bag: no encoder is needed to tell these questions apart."""
    vectors = np.zeros((len(texts), 64), np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().rstrip("?").split():
            vectors[row, int(hashlib.sha256(word.encode()).hexdigest(), 16) % 64] += 1
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


def large_count(row):
    return row["reference"] in LARGE and "count" in primitives(ORACLE.read(row["question"]))


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    template = (ROOT / "resources/prompts/questioner-demo.txt").read_text()
    panel = Panel(CannotCountAboveTwo(), ORACLE, embed, RewardSettings(buffer=64), template)
    policy = Policy(str(ROOT / "resources/models/questioner-demo"))
    settings = TrainSettings(steps=60, batch_size=8, accumulation=4, generations=8, learning_rate=2e-4)
    folder = tmp_path_factory.mktemp("planted")
    found = {}
    for method in ("zero-shot", "rl"):
        job = Job(method, "planted", 0, folder / method, "one")
        if method == "rl":
            train_questioner(job, policy, panel, PICTURES[:60], settings, FinetuneSettings())
        found[method] = ask_held_out(job, policy, panel, PICTURES[60:], settings, template)
    return found


def test_reinforcement_moves_to_the_planted_skill(asked):
    shares, images = {}, {}
    for method, table in asked.items():
        failed = [row for row in table.to_pylist() if row["valid"] and row["correct"] is False]
        planted = [row for row in failed if large_count(row)]
        shares[method] = len(planted) / max(len(failed), 1)
        images[method] = len({row["image_id"] for row in planted})
    assert shares["rl"] > 0.6 and shares["rl"] > shares["zero-shot"], shares
    assert images["rl"] > 3 * images["zero-shot"], images


def test_the_failure_modes_name_it_first(asked):
    rows = [row for table in asked.values() for row in table.to_pylist()]
    frame = evidence(pd.DataFrame(rows))
    skills = {
        (row["image_id"], row["question"]): primitives(ORACLE.read(row["question"])) for row in rows if row["valid"]
    }
    modes = failure_modes(frame, skills, minimum=5, alpha=0.05, replicates=200, confidence=0.95, seed=0)
    first = modes.iloc[0]
    assert first["mode"] == "count" and first["failure_mode"], modes.head(5).to_string()
