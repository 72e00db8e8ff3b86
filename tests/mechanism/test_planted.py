"""A model with a planted fault is diagnosed: no effect where the fault is, effects elsewhere, and the mode table moves.

What arXiv 2607.16094 lets one predict of the shipped demo model:

a. its MLPs of two layers write nothing at object positions: knocking them out does nothing there, and the contrast of
   that pathway between right and wrong answers goes, while the one of attention stays;
b. its answer position reads nothing of the object in the late layers: the same with the pathways exchanged;
c. it is shown a blank image: no grounding, in right answers and in wrong ones, so what is left is the language prior.
"""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from vlmdx.datasets import gqa
from vlmdx.demo.world import write_scenes
from vlmdx.mechanism import engine, reference
from vlmdx.mechanism import run as module
from vlmdx.mechanism.artifacts import effects_table
from vlmdx.mechanism.asked import ask_all
from vlmdx.mechanism.contrast import pathways
from vlmdx.mechanism.draw import draw
from vlmdx.mechanism.modes import PRIOR, UNASSIGNED, Thresholds, failure_modes
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION, MLP_OBJECT, Result, Spec, all_layers
from vlmdx.models.load import load

from tests.mechanism.samples import make

ROOT = Path(__file__).parents[2]
TEMPLATE = (ROOT / "resources/prompts/letter.txt").read_text()
SCENES = 220  # as many as 20 wrong answers to verify questions take
BROKEN_MLPS, DEAF_LAYERS = (0, 1), (2, 3, 4, 5)
# Ranks, since a few items carry most of the peaks: with 20 against 20 they decide where a test on means cannot.
AT = Thresholds(test="mann_whitney")


def effect(adapter, sample, kind):
    found = reference.effects(adapter, [sample], all_layers((kind,), len(adapter.decoder_layers)))
    return (found.clean - found.logprob)[:, 0]


@pytest.mark.parametrize(("kind", "planted"), [(MLP_OBJECT, (0, 1)), (ATTENTION_KNOCKOUT, (2, 3))])
def test_what_is_already_broken_cannot_be_knocked_out(qwen3, kind, planted):
    sample = make(qwen3, "middle", 3)
    intact = effect(qwen3, sample, kind)
    with reference.installed(qwen3, sample, Spec(kind, planted[0], 2)):
        broken = effect(qwen3, sample, kind)
    working = [layer for layer in range(4) if layer not in planted]
    assert torch.equal(broken[list(planted)], torch.zeros(2))
    # an MLP at object positions of the last layer has no effect in any model
    alive = [layer for layer in working if not (kind == MLP_OBJECT and layer == 3)]
    assert broken[alive].abs().min() > 1e-4 and intact[[*planted, *alive]].abs().min() > 1e-4


def test_a_blind_model_has_no_effect_of_mean_ablation(qwen3):
    """Every image token alike after every layer: ablation replaces a token by itself."""
    sample = make(qwen3, "middle", 3)
    with torch.inference_mode():
        everything = make(qwen3, "whole", 3)
        with reference.installed(qwen3, everything, Spec(MEAN_ABLATION, 0, 4)):
            found = reference.effects(qwen3, [sample], all_layers((MEAN_ABLATION,), 4))
    assert (found.clean - found.logprob).abs().max() < 1e-5


class Demo:
    """The shipped model on drawn scenes; ``dissect`` goes the way of a job, with a fault in the model or its eyes."""

    def __init__(self, folder):
        write_scenes(folder / "world", 0, 0, SCENES, 7)
        files = {"questions": "questions.json", "scene_graphs": "sceneGraphs.json", "images": "images"}
        rows = gqa.read(**{key: folder / "world" / name for key, name in files.items()}, seed=0)
        keys = ("item_id", "image_id", "question", "options", "answer", "operation", "program")
        self.items = [{**{k: getattr(r, k) for k in keys}, "objects": [asdict(o) for o in r.objects]} for r in rows]
        self.images = {i["image_id"]: (folder / f"world/images/{i['image_id']}.png").read_bytes() for i in self.items}
        self.adapter = load(str(ROOT / "resources/models/qwen-demo"), device="cpu")
        self.folder = folder

    def drawn(self, operation, balanced):
        """So many questions, half of which the intact model gets wrong; or 60 as they come."""
        correct = None
        if balanced:
            asked = [item for item in self.items if item["operation"] == operation]
            keys = {"template": TEMPLATE, "batch_tokens": 1024}
            rows = ask_all(self.adapter, asked, self.images, self.folder / "asked", **keys).to_pylist()
            correct = {row["item_id"]: row["correct"] for row in rows}
        return draw(self.items, operation, balanced or 60, 0, correct)[0]

    def dissect(self, items, name, monkeypatch, engine_, at=AT):
        """Effects of every item, intervention and layer, the contrasts between right and wrong, and the mode."""
        monkeypatch.setitem(module.ENGINES, "planted", engine_)
        settings = {"template": TEMPLATE, "rule": "any", "batch_tokens": 1024, "window": 1, "controls": False}
        parts = self.folder / name
        found = module.run(self.adapter, items, self.images, parts, engine="planted", seed=0, **settings)
        effects = effects_table(found, items[0]["operation"], "object").to_pandas()
        images = {item["item_id"]: item["image_id"] for item in items}
        table = pathways(effects, effects.iloc[:0], images, resamples=200, confidence=0.95, seed=0)
        accuracy = {items[0]["operation"]: effects["correct"].mean()}
        return effects, table, failure_modes("qwen-demo", table, accuracy, at).iloc[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return Demo(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def verify(demo):
    """Questions half of which the intact model gets wrong, and what its effects are."""
    items = demo.drawn("verify", balanced=40)
    with pytest.MonkeyPatch.context() as patch:
        return items, *demo.dissect(items, "intact", patch, engine.effects)


def planted(kind, layers):
    """An engine that finds the model with ``kind`` in force in all of ``layers``, as if it had been trained so."""

    def effects(adapter, samples, specs, batch_tokens):
        found = []
        for sample in samples:
            with reference.installed(adapter, sample, Spec(kind, layers[0], len(layers))):
                found.append(reference.effects(adapter, [sample], specs))
        return Result(
            torch.cat([one.clean for one in found]),
            torch.cat([one.logprob for one in found], 1),
            [letters for one in found for letters in one.letters],
        )

    return effects


def blank(adapter, samples, specs, batch_tokens):
    """An engine that shows the model a grey image in place of each."""
    blind = [replace(sample, image=Image.new("RGB", sample.image.size, "grey")) for sample in samples]
    return engine.effects(adapter, blind, specs, batch_tokens)


def by_layer(effects, kind):
    """Mean absolute effect in each layer."""
    rows = effects[(effects["intervention"] == kind[0]) & (effects["position"] == kind[1])]
    return rows["delta"].abs().groupby(rows["layer"]).mean()


def row(table, kind):
    return table[(table["intervention"] == kind[0]) & (table["position"] == kind[1])].iloc[0]


@pytest.mark.parametrize(
    ("kind", "layers", "lost", "kept"),
    [
        (MLP_OBJECT, BROKEN_MLPS, "mlp object", "attention"),
        (ATTENTION_KNOCKOUT, DEAF_LAYERS, "attention", "mlp object"),
    ],
)
def test_the_demo_model_with_a_broken_pathway(demo, verify, monkeypatch, kind, layers, lost, kept):
    items, before, table_before, mode_before = verify
    after, table, mode = demo.dissect(items, lost, monkeypatch, planted(kind, layers))
    intact, broken = by_layer(before, kind), by_layer(after, kind)
    last = len(demo.adapter.decoder_layers) - 1
    elsewhere = [k for k in range(last + 1) if k not in layers and not (kind == MLP_OBJECT and k == last)]
    assert (broken[list(layers)] == 0).all() and (intact[list(layers)] > 1e-4).all()
    assert (broken[elsewhere] > 1e-4).all() and (intact[elsewhere] > 1e-4).all()
    for other in (o for o in KINDS if o != kind):
        # What an object gets in the last two layers, none but the answer position could still read.
        alive = [k for k in layers if not (other[1] == "object" and k >= last - 1)]
        assert (by_layer(after, other)[alive] > 1e-4).all(), other
    # The peaks of the broken pathway fall; its mark leaves the signature, and no other mark does.
    for group in ("peak_correct", "peak_incorrect"):
        assert row(table, kind)[group] < row(table_before, kind)[group]
    assert f"{lost} -" in mode_before["signature"] and f"{kept} -" in mode_before["signature"]
    assert f"{lost} 0" in mode["signature"] and f"{kept} -" in mode["signature"], mode["signature"]


def test_the_demo_model_before_a_blank_image(demo, monkeypatch):
    """Colours: the model sees them and is never wrong. Without an image it has but its prior, right or wrong."""
    items, at = demo.drawn("query", None), Thresholds()
    effects, _, mode = demo.dissect(items, "sees", monkeypatch, engine.effects, at)
    assert mode["accuracy"] == 100 and mode["mode"] == UNASSIGNED and mode["gs_correct"] > 2 * at.high
    effects, _, mode = demo.dissect(items, "blank", monkeypatch, blank, at)
    assert mode["accuracy"] < 50 and mode["mode"] == PRIOR, mode["signature"]
    assert max(mode["gs_correct"], mode["gs_incorrect"]) < 0.05
    assert by_layer(effects, MEAN_ABLATION).max() < 0.05
