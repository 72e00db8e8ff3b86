"""Contrasts and failure modes on effects whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from vlmdx.mechanism.contrast import cohen_d, contrast, pathways, peaks
from vlmdx.mechanism.modes import (
    ATTRIBUTE,
    GROUNDING,
    PRIOR,
    REASONING,
    UNASSIGNED,
    Thresholds,
    assign,
    failure_modes,
    neighbours,
    sensitivity,
)
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT

QUICK = {"resamples": 200, "confidence": 0.95, "seed": 0}


def effects(shift, n=80, operation="query", seed=0, base=1.0):
    """Three layers; the peak is in layer 1 and differs by ``shift[kind]`` SDs between right and wrong items."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(n):
        right = i % 2 == 0
        for kind in KINDS:
            peak = base + 0.2 * (rng.standard_normal() + (shift.get(kind, 0) if right else 0))
            for layer, delta in enumerate((peak - 1, peak, peak - 0.5)):
                rows.append((f"gqa:{operation}{i}", operation, *kind, layer, -0.5, -0.5 - delta, delta, right))
    columns = [
        "item_id",
        "operation",
        "intervention",
        "position",
        "layer",
        "logprob_clean",
        "logprob",
        "delta",
        "correct",
    ]
    return pd.DataFrame(rows, columns=columns)


def images(frame):
    return {i: f"image{int(i.rsplit('y', 1)[-1]) // 2}" for i in frame["item_id"].unique()}


def test_peak_is_the_largest_effect_and_the_earliest_layer_of_equal_ones():
    frame = effects({}, n=2)
    found = peaks(frame.sample(frac=1, random_state=1))
    assert len(found) == 2 * len(KINDS) and set(found["peak_layer"]) == {1}
    tie = frame.assign(delta=1.0)
    assert set(peaks(tie)["peak_layer"]) == {0}


def test_cohen_d_by_hand():
    right, wrong = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0, 8.0])
    pooled = np.sqrt((2 * right.var(ddof=1) + 3 * wrong.var(ddof=1)) / 5)
    assert cohen_d(right, wrong) == pytest.approx((2 - 5) / pooled)
    assert np.isnan(cohen_d(np.array([1.0]), wrong)) and np.isnan(cohen_d(np.ones(3), np.ones(3)))


def test_tests_and_intervals():
    rng = np.random.default_rng(0)
    right = np.arange(200) % 2 == 0
    values = rng.standard_normal(200) + 0.8 * right
    clusters = [f"i{i // 2}" for i in range(200)]
    found = contrast(values, right, clusters, **QUICK)
    assert found["d_low"] < found["d"] < found["d_high"] and 0.4 < found["d"] < 1.2
    assert found["p_welch"] == stats.ttest_ind(values[right], values[~right], equal_var=False).pvalue
    assert found["p_mann_whitney"] == stats.mannwhitneyu(values[right], values[~right]).pvalue
    assert found["p_permutation"] < 0.02
    assert found["shuffled_low"] < 0 < found["shuffled_high"] < found["d"]
    assert contrast(values, right, clusters, **QUICK) == found
    # the order of items must not matter
    order = rng.permutation(200)
    again = contrast(values[order], right[order], [clusters[i] for i in order], **QUICK)
    assert again["d_low"] == pytest.approx(found["d_low"]) and again["p_welch"] == pytest.approx(found["p_welch"])


def test_interval_widens_when_an_image_carries_many_items():
    rng = np.random.default_rng(1)
    right = np.arange(200) % 2 == 0
    values = np.repeat(rng.standard_normal(20), 10) + 0.1 * rng.standard_normal(200)
    one_each = contrast(values, right, [f"i{i}" for i in range(200)], **QUICK)
    pairs = np.repeat(rng.standard_normal(20), 10) * np.where(right, 1, -1)
    clustered = contrast(values + pairs, right, [f"i{i // 10}" for i in range(200)], **QUICK)
    loose = contrast(values + pairs, right, [f"i{i}" for i in range(200)], **QUICK)
    assert one_each["d"] is not None
    assert clustered["d_high"] - clustered["d_low"] > 1.5 * (loose["d_high"] - loose["d_low"])


@pytest.mark.parametrize("right", [[True] * 6, [True] * 5 + [False]])
def test_a_group_of_fewer_than_two_gives_null(right):
    found = contrast(np.arange(6.0), right, list("abcdef"), **QUICK)
    assert set(found.values()) == {None}


def test_false_discovery_control_over_operations_and_interventions():
    frames = [effects({MEAN_ABLATION: 3} if name == "query" else {}, operation=name) for name in ("query", "verify")]
    frame = pd.concat(frames)
    table = pathways(frame, frame.iloc[:0], images(frame), **QUICK)
    assert len(table) == 8
    assert np.allclose(table["q_welch"], stats.false_discovery_control(table["p_welch"].astype(float)))
    assert (table["q_welch"] >= table["p_welch"].astype(float)).all()
    assert table["peak_random"].isna().all()


@pytest.mark.parametrize(
    ("shift", "base", "mode"),
    [
        ({}, 0.1, PRIOR),
        ({MEAN_ABLATION: -2, ATTENTION_KNOCKOUT: -2}, 1.0, REASONING),
        ({MEAN_ABLATION: 2}, 1.0, GROUNDING),
        ({MEAN_ABLATION: 2, MLP_ANSWER: -2}, 1.0, GROUNDING),
        ({MEAN_ABLATION: 2, ATTENTION_KNOCKOUT: 2}, 1.0, UNASSIGNED),
        ({MLP_ANSWER: -2}, 1.0, ATTRIBUTE),
        ({MLP_OBJECT: 2}, 1.0, ATTRIBUTE),
        ({MLP_ANSWER: -2}, 0.1, UNASSIGNED),
        ({}, 1.0, UNASSIGNED),
    ],
)
def test_signatures(shift, base, mode):
    frame = effects(shift, base=base)
    table = pathways(frame, frame.iloc[:0], images(frame), **QUICK)
    (row,) = failure_modes("m", table, {"query": 0.5}, Thresholds()).to_dict("records")
    assert row["mode"] == mode
    assert row["accuracy"] == 50 and row["n"] == 80
    assert ("ablation +" in row["signature"]) == (shift.get(MEAN_ABLATION, 0) > 0)
    assert 0 <= row["stability"] <= 1 and mode not in row["alternatives"].split("; ")


def test_layout_of_table_3_comes_first():
    frame = effects({})
    table = pathways(frame, frame.iloc[:0], images(frame), **QUICK)
    modes = failure_modes("m", table, {"query": 0.5}, Thresholds())
    columns = [name for name in modes if not name.startswith("stars_")]
    assert columns[:8] == ["model", "operation", "n", "d_ablation", "d_attention", "d_mlp_answer", "accuracy", "mode"]
    assert list(modes)[3:9:2] == columns[3:6]  # each d has its stars beside it


def test_stars_are_those_of_the_chosen_test():
    frame = effects({MEAN_ABLATION: 2, ATTENTION_KNOCKOUT: 0.4, MLP_OBJECT: 0.35})
    table = pathways(frame, frame.iloc[:0], images(frame), **QUICK)
    (row,) = failure_modes("m", table, {"query": 0.5}, Thresholds(test="welch")).to_dict("records")
    for name in ("ablation", "attention", "mlp_object", "mlp_answer"):
        assert len(row[f"stars_{name}"]) == sum(row[f"q_{name}"] <= level for level in (0.05, 0.01, 0.001))
    assert row["stars_ablation"] == "***" and row["stars_attention"] in ("*", "**") and row["stars_mlp_answer"] == ""


def test_controls_stand_beside():
    """Random tokens without any difference, an identity that is off by rounding, d under shuffled correctness."""
    frame = effects({MEAN_ABLATION: 2})
    nothing = frame.drop_duplicates("item_id").assign(intervention="identity", layer=0, delta=-3e-7)
    table = pathways(pd.concat([frame, nothing]), effects({}, seed=1), images(frame), **QUICK)
    row = table.set_index(["intervention", "position"]).loc[MEAN_ABLATION]
    assert abs(row["d_random"]) < 0.5 < row["d"] and row["identity"] == pytest.approx(3e-7)
    assert row["shuffled_low"] < 0 < row["shuffled_high"] < row["d"]
    assert table.loc[table["position"] == "answer", "identity"].isna().all()  # no identity was run there
    (mode,) = failure_modes("m", table, {"query": 0.5}, Thresholds()).to_dict("records")
    assert mode["identity"] == pytest.approx(3e-7) and mode["gs_random"] == pytest.approx(row["peak_random"])


def test_every_setting_of_the_thresholds_has_a_verdict():
    frame = effects({MEAN_ABLATION: 2}, base=0.8)
    table = pathways(frame, frame.iloc[:0], images(frame), **QUICK)
    found = sensitivity("m", table, Thresholds())
    (mode,) = failure_modes("m", table, {"query": 0.5}, Thresholds()).to_dict("records")
    assert len(found) == 27 and found["configured"].sum() == 1
    assert found.loc[found["configured"], "mode"].item() == mode["mode"]
    assert (found["mode"] == mode["mode"]).mean() == pytest.approx(mode["stability"])


def test_too_few_items_give_no_verdict():
    frame = effects({MEAN_ABLATION: 5}, n=10)
    table = pathways(frame, frame, images(frame), **QUICK)
    assert table["peak_random"].notna().all()
    mode, signature = assign({(r["intervention"], r["position"]): r for r in table.to_dict("records")}, Thresholds())
    assert mode == UNASSIGNED and "only 5 items" in signature


def test_thresholds_are_checked_and_varied():
    with pytest.raises(ValueError, match="expected one of"):
        Thresholds(test="t")
    with pytest.raises(ValueError, match="low"):
        Thresholds(low=2, high=1)
    around = neighbours(Thresholds())
    assert Thresholds() in around and len(set(around)) == len(around) == 27
