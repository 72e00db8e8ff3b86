"""VSR's statements: one grounding set each for subject, object and both, and contrasts by relation category."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from vlmdx.mechanism.grounding import SetAside, item_branches
from vlmdx.mechanism.run import run
from vlmdx.mechanism.sample import KINDS, MEAN_ABLATION, MLP_ANSWER
from vlmdx.mechanism.tables import VSR_EFFECTS
from vlmdx.mechanism.vsr import SETS, position_sets, statements, vsr_effects, vsr_pathways, vsr_set_aside, whole
from vlmdx.mechanism.vsr_figure import strongest_statements
from vlmdx.schema import write_table

from tests.models.tiny import picture

EFFECT_KEY = ("intervention", "position", "layer")
SETTINGS = {
    "template": "{question}\n{options}\nAnswer with the option's letter from the given choices directly.",
    "rule": "any",
    "engine": "fast",
    "batch_tokens": 400,
    "window": 1,
    "controls": True,
    "seed": 0,
}
INSIDE, CUT_AWAY = (60.0, 30.0, 30.0, 40.0), (2.0, 30.0, 20.0, 40.0)  # of a 224 x 140 photo, seen as its centre


def statement(number, thing=INSIDE, **changed):
    program = [
        {"operation": "select", "dependencies": [], "argument": "cat (1,2)"},
        {"operation": "verify rel", "dependencies": [0], "argument": "car,under,o (3)"},
    ]
    boxes = [("1", "cat", 100.0, 60.0, 20.0, 20.0), ("2", "cat", 120.0, 90.0, 20.0, 20.0), ("3", "car", *thing)]
    return {
        "item_id": f"vsr:{number}",
        "image_id": "vsr:photo",
        "question": "Is this statement about the image true? The cat is under the car.",
        "options": ["yes", "no"],
        "answer": number % 2,
        "category": "Projective",
        "operation": "verify",
        "program": json.dumps(program),
        "objects": [dict(zip(("object_id", "name", "x", "y", "w", "h"), box, strict=True)) for box in boxes],
        **changed,
    }


def photo():
    stream = io.BytesIO()
    picture(224, 140).save(stream, "PNG")
    return {"vsr:photo": stream.getvalue()}


def test_each_set_names_its_own_objects():
    sets = position_sets(statement(0))
    assert list(sets) == list(SETS)
    assert {name: item_branches(item) for name, item in sets.items()} == {
        "subject": [("1", "2")], "object": [("3",)], "both": [("1", "2", "3")]
    }  # fmt: skip
    assert len({item["item_id"] for item in sets.values()}) == 3
    assert {item["question"] for item in sets.values()} == {statement(0)["question"]}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"program": None}, "instances_file"),
        ({"program": json.dumps([{"operation": "exist", "dependencies": [], "argument": "?"}])}, "two boxed things"),
        ({"answer": None}, "no gold answer"),
    ],
)
def test_what_is_no_boxed_statement_is_set_aside_in_every_set(llava, changed, reason):
    rows, aside = statements([statement(0), statement(1, **changed)])
    assert len(rows) == 3 and [i for i, _ in aside] == ["vsr:1"] and reason in aside[0][1]
    if "program" in changed:
        with pytest.raises(SetAside):
            position_sets(statement(1, **changed))


def test_sets_are_dissected_by_themselves(llava, tmp_path):
    items = [statement(0), statement(1, answer=None)]
    rows, aside = statements(items)
    found = whole(run(llava, rows, photo(), tmp_path / "parts", **SETTINGS))
    table = vsr_effects(found, items, "object")
    write_table(tmp_path / "effects.parquet", table, VSR_EFFECTS)
    frame = table.to_pandas()
    assert set(frame["item_id"]) == {"vsr:0"} and set(frame["category"]) == {"Projective"}
    by_set = {name: rows.sort_values(list(EFFECT_KEY))["delta"].to_numpy() for name, rows in frame.groupby("grounding")}
    assert not np.allclose(by_set["subject"], by_set["object"], atol=1e-4)
    plain = run(llava, [statement(0)], photo(), tmp_path / "plain", **SETTINGS).to_pandas()
    plain = plain[plain["role"] == "object"].sort_values(list(EFFECT_KEY))
    assert np.allclose(by_set["both"], plain["logprob_clean"] - plain["logprob"], atol=1e-5)
    answer = frame[(frame["intervention"] == MLP_ANSWER[0]) & (frame["position"] == MLP_ANSWER[1])]
    assert answer.groupby("layer")["delta"].agg(np.ptp).max() < 1e-5  # does not know of the set
    assert {row["source"] for row in vsr_set_aside(found, aside)} == set(SETS)
    assert vsr_effects(found, items, "random").num_rows == 3 * 3 * 3


def test_both_is_set_aside_where_one_of_the_two_has_no_token(llava, tmp_path):
    items = [statement(0), statement(1, CUT_AWAY)]
    rows, _ = statements(items)
    raw = run(llava, rows, photo(), tmp_path / "parts", **SETTINGS)
    found = whole(raw)
    reasons = {(row["item_id"], row["source"]): row["reason"] for row in vsr_set_aside(found, [])}
    assert set(reasons) == {("vsr:1", "object"), ("vsr:1", "both")}
    assert reasons["vsr:1", "both"] == f"object alone: {reasons['vsr:1', 'object']}"
    frame = vsr_effects(found, items, "object").to_pandas()
    assert set(frame.loc[frame["item_id"] == "vsr:1", "grounding"]) == {"subject"}
    assert set(raw["item_id"].to_pylist()) == set(found["item_id"].to_pylist())


def effects(shift, n=40):
    """Peaks of 1 +- 0.2 nats; ``shift[category, set]`` SDs more in right statements under mean ablation."""
    rng, rows = np.random.default_rng(0), []
    for category in ("Projective", "Topological"):
        for i in range(n):
            right = i % 4 != 0
            for grounding in SETS:
                for kind in KINDS:
                    more = shift.get((category, grounding), 0) if kind == MEAN_ABLATION and right else 0
                    peak = 1 + 0.2 * (rng.standard_normal() + more)
                    for layer, delta in enumerate((peak, peak - 1)):
                        key = (category, grounding, f"{category}{i}", "verify", *kind, layer)
                        rows.append((*key, -0.5, -0.5 - delta, delta, right))
    return pd.DataFrame(rows, columns=VSR_EFFECTS.schema.names)


def test_contrasts_by_category_and_set():
    frame = effects({("Topological", "object"): 3})
    images = {i: f"photo{int(i[-1])}" for i in frame["item_id"].unique()}
    table = vsr_pathways(frame, frame.iloc[:0], images, resamples=200, confidence=0.95, seed=0)
    assert len(table) == 2 * 3 * len(KINDS)
    assert (table["n"] == 40).all() and (table["accuracy"] == 75).all()
    strong = table[(table["d"] > 1.5)]
    assert strong[["category", "grounding", "intervention"]].values.tolist() == [
        ["Topological", "object", "mean_ablation"]
    ]
    assert strong["q_welch"].item() < 0.05
    for _, own in table.groupby("grounding"):
        p = own["p_welch"].astype(float)
        assert np.allclose(own["q_welch"], stats.false_discovery_control(p))
    peaks = frame[frame["layer"] == 0].groupby(["category", "grounding", "intervention", "position"])["delta"].mean()
    for row in table.to_dict("records"):
        key = tuple(row[name] for name in ("category", "grounding", "intervention", "position"))
        assert row["peak"] == pytest.approx(peaks[key])


def test_a_category_all_right_has_strengths_and_no_contrast():
    frame = effects({}).query("correct")
    images = dict.fromkeys(frame["item_id"], "photo")
    table = vsr_pathways(frame, frame, images, resamples=200, confidence=0.95, seed=0)
    assert table["d"].isna().all() and table["q_welch"].isna().all()
    assert (table["accuracy"] == 100).all() and table["peak"].between(0.8, 1.2).all()
    assert table["peak_random"].notna().all()


def test_strongest_statements_of_each_category():
    frame = effects({})
    best = frame[(frame["intervention"] == "mean_ablation")].groupby(["category", "item_id"])["delta"].max()
    chosen = strongest_statements(frame, 2)
    assert chosen == [i for c in ("Projective", "Topological") for i in best[c].nlargest(2).index]
