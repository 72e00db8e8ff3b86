"""Options of an effects job: gold answers in words, single heads, families that cut images into tiles."""

import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from vlmdx.mechanism.artifacts import account, effects_table, save_tensors
from vlmdx.mechanism.contrast import peaks
from vlmdx.mechanism.prepare import prepare
from vlmdx.mechanism.run import run
from vlmdx.mechanism.sample import HEAD_KNOCKOUT
from vlmdx.models.adapter import Row
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import EFFECTS
from vlmdx.scoring.cell import score_cell
from vlmdx.scoring.question import ask

from tests.mechanism.samples import open_tiny
from tests.mechanism.test_run import IMAGES, SETTINGS, item
from tests.models.tiny import picture

WORDS = SETTINGS | {"template": "{question}\nAnswer the question using a single word.", "controls": False}
OPTIONS = ["dog", "the dog color", "cat what"]


def table(found, role="object"):
    return effects_table(found, "query", role).to_pandas()


@torch.inference_mode()
def test_gold_in_words_is_summed_over_all_its_tokens(llava, tmp_path):
    items = [item(n, options=OPTIONS) for n in range(5)]
    settings = WORDS | {"readout": "text"}
    fast, slow = (
        table(run(llava, items, IMAGES, tmp_path / e, **settings | {"engine": e})) for e in ("fast", "reference")
    )
    assert (fast["logprob"] - slow["logprob"]).abs().max() < 1e-4  # up to nine terms, each within 1e-5
    # token by token with the plain model
    ready = prepare(llava, items[1], picture(140, 140, seed=1), WORDS["template"], "any", 0, "text")
    (sample,) = ready.samples
    count = len(sample.gold)
    assert count > 3 and ready.length == sample.answers.stop == len(sample.ids) + count - 1
    total = 0.0
    for given in range(count):
        ids = torch.cat([sample.ids, torch.tensor(sample.gold[:given], dtype=torch.long)])
        logits = llava.logits([Row(ids, 0)], [sample.image])[0, -1]
        total += logits.log_softmax(-1)[sample.gold[given]].item()
    assert fast.loc[fast["item_id"] == "gqa:1", "logprob_clean"].iloc[0] == pytest.approx(total, abs=1e-4)
    # right where the main job's text read-out is right
    questions = [ask(llava, i, "text", WORDS["template"]) for i in items]
    scored = score_cell(llava, questions, [IMAGES], "clean", 0, "text", 500)
    chosen = {row["item_id"]: row["chosen"] for row in scored if row["is_gold"]}
    for frame in (fast, slow):
        assert frame.groupby("item_id")["correct"].first().to_dict() == chosen
    assert set(chosen.values()) == {True, False}


def test_x01_single_heads_have_rows_of_their_own(qwen3, tmp_path):
    items = [item(n) for n in range(3)]
    settings = SETTINGS | {"head_layers": [1, 3], "batch_tokens": 300}
    found = {e: run(qwen3, items, IMAGES, tmp_path / e, **settings | {"engine": e}) for e in ("fast", "reference")}
    frame, slow = (table(found[e]) for e in ("fast", "reference"))
    assert np.abs(frame["logprob"] - slow["logprob"]).max() < 1e-5
    heads = frame[frame["intervention"] == HEAD_KNOCKOUT]
    assert len(heads) == 3 * 2 * 4 and set(heads["layer"]) == {1, 3} and set(heads["head"]) == {0, 1, 2, 3}
    assert heads.groupby(["item_id", "layer"])["logprob"].nunique().min() == 4
    assert frame.loc[frame["intervention"] != HEAD_KNOCKOUT, "head"].isna().all()
    # what is made of the whole layers is what it is without single heads
    plain = table(run(qwen3, items, IMAGES, tmp_path / "plain", **SETTINGS | {"batch_tokens": 300}))
    whole = peaks(frame[frame["intervention"] != HEAD_KNOCKOUT])
    assert np.abs(whole["peak"] - peaks(plain)["peak"]).max() < 1e-5
    write_table(tmp_path / "effects.parquet", effects_table(found["fast"], "query", "object"), EFFECTS)
    assert read_table(tmp_path / "effects.parquet", EFFECTS)["head"].null_count == len(frame) - len(heads)
    assert len(table(found["fast"], "random").query(f"intervention == '{HEAD_KNOCKOUT}'")) == 3 * 2 * 4
    save_tensors(tmp_path / "t.safetensors", found["fast"])
    with safe_open(tmp_path / "t.safetensors", "pt") as file:
        tensor = file.get_tensor("object.head_knockout.answer.3")
        about = json.loads(file.metadata()["vlmdx"])["samples"]["object.head_knockout.answer.3"]
        assert file.get_tensor("object.attention_knockout.answer").shape == (4, 3)
    expected = heads[(heads["layer"] == 3) & (heads["item_id"] == about[2][0])].sort_values("head")["delta"]
    assert tensor.shape == (4, 3) and np.allclose(tensor[:, 2], expected, atol=1e-6)


def test_a_layer_that_the_model_has_not_is_an_error(qwen3, tmp_path):
    with pytest.raises(ValueError, match=r"layers 0 to 3, no layer 4"):
        run(qwen3, [item(0)], IMAGES, tmp_path, **SETTINGS | {"head_layers": [4]})


@pytest.mark.parametrize("name", ["llava_next", "internvl", "idefics3"])
def test_x06_families_with_tiles_are_dissected(name, tmp_path):
    """Boxes on tiles and on the view of the whole; outside the image there is no token, and never all of them."""
    adapter = open_tiny(name, tmp_path / name, 2)
    items = [item(0), item(1), item(5, box=(500.0, 500.0, 9.0, 9.0))]
    found = {
        e: run(adapter, items, IMAGES, tmp_path / e, **SETTINGS | {"engine": e, "batch_tokens": 500})
        for e in ("fast", "reference")
    }
    assert account(found["fast"], 3, "query").startswith("query: 3 items = 2 dissected + 1 set aside; 1 x no image")
    assert np.abs(table(found["fast"])["logprob"] - table(found["reference"])["logprob"]).max() < 1e-5
    (sample,) = prepare(adapter, items[0], picture(140, 140), SETTINGS["template"], "any", 0).samples
    positions, views = adapter.image_views(sample.ids, picture(140, 140))
    inside = [[positions[t] for t in view.tokens_in((30, 30, 40, 40))] for view in views]
    assert set(sample.tokens) == {p for view in inside for p in view}
    assert inside[0] and sum(bool(view) for view in inside) >= 2  # tiles, and the view of the whole
    assert 0 < len(sample.tokens) < len(sample.vision) <= len(positions)
