"""Items in, effects out: resumable, accounted for, with controls."""

import io
import json

import numpy as np
import pytest
from safetensors import safe_open
from vlmdx.mechanism import run as module
from vlmdx.mechanism.artifacts import account, effects_table, save_tensors, set_aside
from vlmdx.mechanism.prepare import elsewhere, prepare
from vlmdx.mechanism.run import run
from vlmdx.schema import write_table
from vlmdx.schema.tables import EFFECTS

from tests.mechanism.samples import make
from tests.models.tiny import picture

TEMPLATE = "{question}\n{options}\nAnswer with the option's letter from the given choices directly."
SETTINGS = {
    "template": TEMPLATE,
    "rule": "any",
    "engine": "fast",
    "batch_tokens": 150,
    "window": 1,
    "controls": True,
    "seed": 0,
}


def png(size=(140, 140), seed=0):
    stream = io.BytesIO()
    picture(*size, seed=seed).save(stream, "PNG")
    return stream.getvalue()


def item(number, box=(30.0, 30.0, 40.0, 40.0), question="what color is the dog", **changed):
    steps = [
        {"operation": "select", "dependencies": [], "argument": "dog (6)"},
        {"operation": "query", "dependencies": [0], "argument": "color"},
    ]
    thing = dict(zip(("object_id", "name", "x", "y", "w", "h"), ("6", "dog", *box), strict=True))
    return {
        "item_id": f"gqa:{number}",
        "image_id": f"gqa:i{number % 2}",
        "question": question,
        "options": ["A", "B", "cat"],
        "answer": number % 3,
        "operation": "query",
        "program": json.dumps(steps),
        "objects": [thing],
        **changed,
    }


IMAGES = {"gqa:i0": png(), "gqa:i1": png(seed=1)}


@pytest.fixture
def items():
    outside = item(5, box=(500.0, 500.0, 9.0, 9.0))
    return [item(0), item(1), item(2, question="what is the dog dog dog"), item(3), item(4, answer=None), outside]


def rows(table):
    return {tuple(r.values()) for r in table.to_pylist()}


def test_parts_artifacts_and_account(llava, items, tmp_path):
    found = run(llava, items, IMAGES, tmp_path / "parts", **SETTINGS)
    assert account(found, 6, "query").startswith("query: 6 items = 4 dissected + 2 set aside")
    reasons = {row["item_id"]: row["reason"] for row in set_aside(found, "query")}
    assert "no gold" in reasons["gqa:4"] and "no image token" in reasons["gqa:5"]
    effects = effects_table(found, "query", "object")
    write_table(tmp_path / "effects.parquet", effects, EFFECTS)
    assert effects.num_rows == 4 * (4 * 3 + 2)
    frame = effects.to_pandas()
    assert np.allclose(frame["delta"], frame["logprob_clean"] - frame["logprob"], atol=1e-6)
    assert frame.loc[frame["intervention"] == "identity", "delta"].abs().max() < 1e-5
    assert effects_table(found, "query", "random").num_rows == 4 * 3 * 3
    save_tensors(tmp_path / "t.safetensors", found)
    with safe_open(tmp_path / "t.safetensors", "pt") as file:
        tensor = file.get_tensor("object.mean_ablation.object")
        samples = json.loads(file.metadata()["vlmdx"])["samples"]["object.mean_ablation.object"]
    one = frame[(frame["intervention"] == "mean_ablation") & (frame["item_id"] == samples[2][0])].sort_values("layer")
    assert tensor.shape == (3, 4) and np.allclose(tensor[:, 2], one["delta"], atol=1e-6)
    written = (tmp_path / "t.safetensors").read_bytes()
    for _ in range(5):  # safetensors writes the entries of its metadata in a random order
        save_tensors(tmp_path / "t.safetensors", found)
        assert (tmp_path / "t.safetensors").read_bytes() == written


def test_fast_and_reference_write_the_same(llava, items, tmp_path):
    tables = [
        effects_table(run(llava, items, IMAGES, tmp_path / e, **{**SETTINGS, "engine": e}), "query", "object")
        for e in ("fast", "reference")
    ]
    keys = [table.drop_columns(["logprob", "delta", "logprob_clean"]).to_pylist() for table in tables]
    assert keys[0] == keys[1]
    gap = np.abs(tables[0]["logprob"].to_numpy() - tables[1]["logprob"].to_numpy())
    assert gap.max() < 1e-5


def test_a_killed_job_goes_on_where_it_stopped(llava, items, tmp_path, monkeypatch):
    whole = run(llava, items, IMAGES, tmp_path / "whole", **SETTINGS)
    calls, plain = [], module._effects

    def dies(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*args)

    monkeypatch.setattr(module, "_effects", dies)
    with pytest.raises(KeyboardInterrupt):
        run(llava, items, IMAGES, tmp_path / "parts", **SETTINGS)
    finished = sum(len(args[1]) for args in calls[:2])
    calls.clear()
    monkeypatch.setattr(module, "_effects", lambda *args: calls.append(args) or plain(*args))
    again = run(llava, items, IMAGES, tmp_path / "parts", **SETTINGS)
    assert sum(len(args[1]) for args in calls) == 4 - finished < 4
    assert rows(again) == rows(whole)  # to the last bit
    assert [set(map(str, t.column("item_id"))) for t in (again,)] == [set(map(str, whole.column("item_id")))]
    assert account(again, 6, "query") == account(whole, 6, "query")


def test_only_new_and_changed_items_run(llava, items, tmp_path, monkeypatch):
    run(llava, items[:3], IMAGES, tmp_path / "parts", **SETTINGS)
    calls, plain = [], module._effects
    monkeypatch.setattr(module, "_effects", lambda *args: calls.extend(args[1]) or plain(*args))
    changed = [items[0], {**items[1], "question": "what color is the cat"}, *items[3:]]
    found = run(llava, changed, IMAGES, tmp_path / "parts", **SETTINGS)
    assert sorted(item.item_id for item in calls) == ["gqa:1", "gqa:3"]
    assert set(found["item_id"].to_pylist()) == {i["item_id"] for i in changed}
    assert len(rows(found)) == found.num_rows


def test_two_branches_are_averaged(llava, tmp_path):
    steps = [("select", "dog (6)"), ("exist", "?", 0), ("select", "cat (7)"), ("exist", "?", 2), ("or", "", 1, 3)]
    program = [{"operation": o, "argument": a, "dependencies": list(d)} for o, a, *d in steps]
    thing = {"object_id": "7", "name": "cat", "x": 100.0, "y": 100.0, "w": 30.0, "h": 30.0}
    both = item(0, operation="exist", program=json.dumps(program))
    both["objects"] = [*both["objects"], thing]
    found = run(llava, [both], IMAGES, tmp_path, **{**SETTINGS, "controls": False})
    frame = found.to_pandas()
    assert set(frame["branch"]) == {0, 1}
    mean = effects_table(found, "exist", "object").to_pandas()
    chosen = (frame["intervention"] == "mean_ablation") & (frame["layer"] == 0)
    averaged = mean.loc[(mean["intervention"] == "mean_ablation") & (mean["layer"] == 0), "logprob"].item()
    assert averaged == pytest.approx(frame.loc[chosen, "logprob"].mean(), abs=1e-6)
    assert frame.loc[chosen, "logprob"].nunique() == 2


def test_nothing_dissected_is_an_error(llava, items, tmp_path):
    found = run(llava, items[4:], IMAGES, tmp_path, **SETTINGS)
    with pytest.raises(ValueError, match="not one item could be dissected"):
        account(found, 2, "query")


def test_control_tokens_lie_outside_and_do_not_depend_on_order(llava):
    sample = make(llava, "middle", 2)
    random = elsewhere(sample, "0\0gqa:1\0" + "0")
    assert len(random.tokens) == len(sample.tokens) and not set(random.tokens) & set(sample.tokens)
    assert random == elsewhere(sample, "0\0gqa:1\0" + "0") != elsewhere(sample, "1\0gqa:1\0" + "0")
    assert elsewhere(make(llava, "whole", 2), "key") is None


def test_gold_letter_and_positions(llava):
    ready = prepare(llava, item(1), picture(140, 140), TEMPLATE, "any", 0)
    (sample,) = ready.samples
    assert sample.target == sample.letters[1] == llava.letter_ids(llava.render("x"), 3)[1]
    start = sample.vision[0]
    assert [t - start for t in sample.tokens] == [6, 7, 11, 12] and len(sample.vision) == 25
