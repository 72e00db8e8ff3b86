"""The half-taught answerer: the teaching that it shares with the questioner, and what the shipped one knows."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from PIL import Image
from vlmdx.demo.architectures import build
from vlmdx.demo.checkpoint import MAX_BYTES, deliver, workplace
from vlmdx.demo.draw import draw
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.pack import Packer
from vlmdx.demo.pupil import lesson
from vlmdx.demo.scene import HELD_OUT_FIRST, generator, sample_scene
from vlmdx.demo.teach import teach
from vlmdx.demo.tokens import folder_bytes
from vlmdx.demo.wordings import Wordings
from vlmdx.discovery.answerer import ModelAnswerer
from vlmdx.discovery.answers import same_answer
from vlmdx.discovery.roles import Question
from vlmdx.models.load import load

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "resources/models/pupil-demo"
PROMPTS = Prompts(*((ROOT / f"resources/prompts/{name}.txt").read_text() for name in ("letter", "text")))


def test_a_killed_teaching_goes_on_to_the_same_weights_and_curve(tmp_path):
    class Killed(Exception):
        pass

    def taught(name, say):
        model, processor = build("qwen-demo", 3)
        packer = Packer(model, processor)

        def loss(step):
            scene = sample_scene(0, step)
            packs = [lesson(packer, PROMPTS, 0, scene)]
            hidden = packer.hidden(packer.image_tokens([draw(0, scene)]), packs)
            logits, wanted, _, _ = packer.gather(hidden, packs)
            return torch.nn.functional.cross_entropy(logits, wanted)

        return teach(model, processor, tmp_path / name, loss, lambda step: 1e-3, 6, every=2, save_every=2, say=say)

    def kill(line):
        if line.startswith("step 6"):
            raise Killed

    torch.set_num_threads(1)
    curve = taught("through", lambda line: None)
    with pytest.raises(Killed):
        taught("killed", kill)
    assert not (tmp_path / "killed").exists()
    assert taught("killed", lambda line: None) == curve
    assert [row["step"] for row in curve] == [2, 4, 6]
    through, killed = ((tmp_path / n / "model.safetensors").read_bytes() for n in ("through", "killed"))
    assert through == killed


def test_a_trained_model_is_delivered_and_its_workplace_cleared(tmp_path):
    model = tmp_path / "models" / "one"
    trained = workplace(model)
    trained.mkdir()
    (trained / "config.json").write_text("new")
    model.mkdir()
    (model / "old.txt").touch()
    deliver(trained, model)
    assert [path.name for path in model.iterdir()] == ["config.json"]
    assert [path.name for path in model.parent.iterdir()] == ["one"]


def test_the_shipped_pupil_knows_the_easy_wordings_and_half_knows_the_others():
    """Well inside what docs/demo-models.md prints for 400 questions."""
    assert folder_bytes(SHIPPED) <= MAX_BYTES
    questions, truths, groups = [], [], []
    wanted = {
        "color": ("What color is the {a}?", "Which color is the {a}?", "What is the color of the {a}?"),
        "there": ("Is there a {a}?", "Does the image have a {a}?", "Is there a {c} object?"),
        "count": ("How many objects are there?", "How many {z} objects are there?", "How many {c} objects are there?"),
    }
    for index in range(HELD_OUT_FIRST + 20_000, HELD_OUT_FIRST + 20_040):
        scene = sample_scene(0, index)
        image, wordings = Image.fromarray(draw(0, scene)), Wordings(scene)
        for group, habit in wanted.items():
            for _, text in wordings.draw(generator(0, index, 7), 3, dict.fromkeys(habit, 1.0)):
                questions.append(Question(scene.image_id, image, text))
                truths.append(wordings.answer(text))
                groups.append(group)
    answers = ModelAnswerer(load(str(SHIPPED), device="cpu"), PROMPTS.text).answer(questions)
    right, asked = Counter(), Counter(groups)
    for group, answer, truth in zip(groups, answers, truths, strict=True):
        right[group] += same_answer(answer.text, truth)
    assert min(asked.values()) >= 80
    assert right["color"] / asked["color"] > 0.95
    assert right["there"] / asked["there"] > 0.9
    assert 0.2 < right["count"] / asked["count"] < 0.65
