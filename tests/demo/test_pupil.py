"""The half-taught answerer: the teaching that it shares with the questioner, and what the shipped one knows."""

from pathlib import Path

import pytest
import torch
from vlmdx.demo.architectures import build
from vlmdx.demo.checkpoint import MAX_BYTES, deliver, workplace
from vlmdx.demo.draw import draw
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.pack import Packer
from vlmdx.demo.pupil import by_wording, lesson
from vlmdx.demo.scene import sample_scene
from vlmdx.demo.teach import teach
from vlmdx.demo.tokens import folder_bytes

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
    """Well inside what docs/demo-models.md prints for 200 scenes."""
    assert folder_bytes(SHIPPED) <= MAX_BYTES
    rows = {row["wording"]: row for row in by_wording(SHIPPED, PROMPTS, seed=0, scenes=40)}

    def right(*wordings):
        asked = sum(rows[wording]["questions"] for wording in wordings)
        assert asked >= 40
        return sum(rows[wording]["right"] * rows[wording]["questions"] for wording in wordings) / asked

    assert right("What color is the {a}?", "Which color is the {a}?", "What is the color of the {a}?") > 95
    assert right("Is there a {a}?", "Does the image have a {a}?", "Is there a {c} object?") > 90
    assert 20 < right(*(wording for wording in rows if wording.startswith("How many"))) < 60
    assert 50 < right("What size is the {a}?", "What is the size of the {a}?", "Which size does the {a} have?") < 90
