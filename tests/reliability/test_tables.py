"""Cells, trajectories and aggregates against pure functions and hand-made cases."""

import numpy as np
import pytest
from vlmdx.reliability import brier, ece, entropy, misalignment, ras, reliability_tables
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import SELECTION

from tests.reliability.synthetic_scores import SETTINGS, SEVERITIES, item, score_rows, write_items, write_shards

FOG = {"weather": ["fog"]}
RIGHT, WRONG = [2.0, 0.0], [0.0, 2.0]


def figures(summary, scope="all", level="all"):
    rows = [r for r in summary.to_pylist() if (r["scope"], r["level"]) == (scope, level)]
    return {row["metric"]: row for row in rows}


def measure(tmp_path, items, rows, **changes):
    paths = write_shards(tmp_path / "scores", rows)
    settings = {**SETTINGS, "families": FOG, **changes}
    return reliability_tables("m", paths, write_items(tmp_path / "items.parquet", items), **settings)


def one_path(tmp_path, path, gold=0):
    """The trajectory of one item whose answers along severity 0, 1, ... are right (r) or wrong (w)."""
    question = item(1, 2, gold)
    logits = {"r": RIGHT, "w": WRONG}
    shards = {
        "clean": score_rows(question, "clean", 0, logits[path[0]]),
        "weather": [r for s, a in enumerate(path[1:], 1) for r in score_rows(question, "fog", s, logits[a])],
    }
    (row,) = measure(tmp_path, [question], shards).trajectories.to_pylist()
    return row["kind"], row["onset"], row["flips"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("rrrrrr", ("stable", None, 0)),
        ("wwwwww", ("stable", None, 0)),
        ("rrrwww", ("persistent", 3, 1)),
        ("rwwwww", ("persistent", 1, 1)),
        ("rrrrrw", ("persistent", 5, 1)),
        ("rrwrrr", ("transient", 2, 2)),
        ("rrwrww", ("transient", 2, 3)),
        ("wrwrwr", ("transient", 1, 5)),
        ("wwwwrr", ("persistent", 4, 1)),
    ],
)
def test_trajectory(tmp_path, path, expected):
    assert one_path(tmp_path, path) == expected


def test_sql_equals_the_pure_functions(world, measured):
    answers = {}
    for row in (r for rows in world["shards"].values() for r in rows):
        answers.setdefault((row["item_id"], row["corruption"], row["severity"]), []).append(row)

    def p_of(key):  # the file holds float32
        return np.array([np.float32(r["prob"]) for r in answers[key]], np.float64)

    gold = {i["item_id"]: i["answer"] for i in world["items"]}
    cells = measured.cells.to_pylist()
    assert len(cells) == 24 * 95
    for cell in cells[::37]:
        clean = p_of((cell["item_id"], "clean", 0))
        corrupted = p_of((cell["item_id"], cell["corruption"], cell["severity"]))
        g = gold[cell["item_id"]]
        expected = {
            "entropy_clean": entropy(clean),
            "entropy": entropy(corrupted),
            "misalignment_clean": misalignment(clean, g),
            "misalignment": misalignment(corrupted, g),
            "ras": ras(entropy(corrupted) - entropy(clean), misalignment(corrupted, g) - misalignment(clean, g)),
            "confidence": corrupted.max(),
            "brier": brier(corrupted, g),
            "brier_clean": brier(clean, g),
        }
        assert {name: cell[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        assert cell["nll"] == pytest.approx(-np.log(corrupted[g]), abs=1e-5)
        assert cell["state"] == "".join("c" if p.argmax() == g else "w" for p in (clean, corrupted))


def test_sources_and_states_add_up_to_the_whole_in_every_scope(measured):
    scopes = {(r["scope"], r["level"]) for r in measured.summary.to_pylist()}
    assert len(scopes) == 1 + 5 + 19 + 5
    for scope in scopes:
        found = {name: row["value"] for name, row in figures(measured.summary, *scope).items()}
        states = ("cc", "cw", "wc", "ww")
        assert found["destructive"] + found["corrective"] == pytest.approx(found["ras"], abs=1e-12)
        assert sum(found[f"contribution_{s}"] for s in states) == pytest.approx(found["ras"], abs=1e-12)
        assert sum(found[f"share_{s}"] * (found[f"ras_{s}"] or 0) for s in states) == pytest.approx(
            found["ras"], abs=1e-12
        )
        assert found["accuracy_delta"] == pytest.approx(
            found["accuracy_corrupted"] - found["accuracy_clean"], abs=1e-12
        )


def test_summary_equals_means_over_cells(measured):
    cells = measured.cells.to_pandas()
    all_ = figures(measured.summary)
    silent = (cells["state"] == "cc") & (cells["ras"] < 0)
    expected = {
        "ras": cells["ras"].mean(),
        "ras_given_correct_clean": cells.loc[cells["correct_clean"], "ras"].mean(),
        "ras_cw": cells.loc[cells["state"] == "cw", "ras"].mean(),
        "silent_degradation": silent.mean(),
        "silent_degradation_ras": cells.loc[silent, "ras"].mean(),
        "lucky_gain": (cells["state"] == "wc").mean(),
        "nll_corrupted": cells["nll"].mean(),
        "ece_clean": ece(cells["confidence_clean"], cells["correct_clean"]),
        "ece_corrupted": ece(cells["confidence"], cells["correct"]),
    }
    assert {name: all_[name]["value"] for name in expected} == pytest.approx(expected, abs=1e-12)
    for name in expected:
        assert all_[name]["low"] <= all_[name]["value"] + 0.02 and all_[name]["high"] >= all_[name]["value"] - 0.02
    blur = figures(measured.summary, "family", "blur")
    assert blur["ras"]["value"] == pytest.approx(cells.loc[cells["family"] == "blur", "ras"].mean(), abs=1e-12)
    assert blur["ras"]["n"] == 24 * 25


def test_tables_do_not_depend_on_the_order_of_shards_or_rows(world, measured, tmp_path):
    rng = np.random.default_rng(0)
    shuffled = {
        family: [rows[i] for i in rng.permutation(len(rows))] for family, rows in reversed(world["shards"].items())
    }
    again = reliability_tables("m", write_shards(tmp_path, shuffled), world["questions"], **SETTINGS)
    assert again.summary.equals(measured.summary)
    assert again.cells.equals(measured.cells)


def test_only_selected_items_are_measured(world, tmp_path):
    chosen = [i["item_id"] for i in world["items"][:6]]
    rows = [{"item_id": name, "gini": 0.5, "rank": n, "similarity": None} for n, name in enumerate(chosen)]
    write_table(tmp_path / "bench.parquet", rows, SELECTION)
    cut = {f: [r for r in shard if r["item_id"] in chosen] for f, shard in world["shards"].items()}
    paths = write_shards(tmp_path / "scores", cut)
    tables = reliability_tables("m", paths, world["questions"], str(tmp_path / "bench.parquet"), **SETTINGS)
    assert set(tables.cells["item_id"].to_pylist()) == set(chosen)
    assert tables.set_aside.num_rows == 0
    # Without the selection the other items are missing, and that is said.
    whole = reliability_tables("m", paths, world["questions"], **SETTINGS)
    assert set(whole.set_aside["code"].to_pylist()) == {"clean_missing"}
    assert whole.set_aside.num_rows == (24 - 6) * 95
    write_table(tmp_path / "bench.parquet", [rows[0] | {"item_id": "syn:gone"}], SELECTION)
    with pytest.raises(ContractError, match="syn:gone"):
        reliability_tables("m", paths, world["questions"], str(tmp_path / "bench.parquet"), **SETTINGS)


def test_one_image_has_values_and_no_interval(tmp_path):
    question = item(1, 2, 0)
    shards = {
        "clean": score_rows(question, "clean", 0, RIGHT),
        "weather": [r for s in SEVERITIES for r in score_rows(question, "fog", s, WRONG)],
    }
    found = figures(measure(tmp_path, [question], shards).summary)
    assert found["ras"]["value"] < 0 and found["ece_clean"]["value"] > 0
    assert {row["low"] for row in found.values()} == {row["high"] for row in found.values()} == {None}
    assert found["ras_wc"]["value"] is None and found["ras_wc"]["n"] == 0
    assert found["mean_onset"]["value"] == 1 and found["persistent"]["value"] == 1


def test_position_bias_by_hand(tmp_path):
    # Gold: A, A, B, B. Chosen: always A.
    items = [item(n, 2, gold) for n, gold in enumerate([0, 0, 1, 1])]
    shards = {
        "clean": [r for i in items for r in score_rows(i, "clean", 0, RIGHT)],
        "weather": [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, RIGHT)],
    }
    a, b = measure(tmp_path, items, shards).position.to_pylist()
    p = 1 / (1 + np.exp(-2))
    assert (a["letter"], a["chosen"], a["gold"], b["chosen"], b["gold"]) == ("A", 1.0, 0.5, 0.0, 0.5)
    assert (a["mean_prob"], b["mean_prob"]) == pytest.approx((p, 1 - p), abs=1e-7)


def test_letter_mass_and_ties_are_reported(tmp_path):
    items = [item(n, 2, 0) for n in range(4)]
    shards = {
        "clean": [r for i in items for r in score_rows(i, "clean", 0, RIGHT)],
        "weather": [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, [1.0, 1.0])],
    }
    for row in shards["weather"]:
        row["letter_mass"] = 0.001 if row["severity"] == 5 else 0.5
    found = figures(measure(tmp_path, items, shards).summary)
    assert found["tied"]["value"] == 1 and found["tied_clean"]["value"] == 0
    assert found["letter_mass"]["value"] == pytest.approx((4 * 0.5 + 0.001) / 5)
    assert found["letter_mass_low"]["value"] == pytest.approx(0.2)


def test_text_readout_has_no_letter_mass(tmp_path):
    items = [item(n, 2, 0) for n in range(4)]
    shards = {
        "clean": [r for i in items for r in score_rows(i, "clean", 0, RIGHT)],
        "weather": [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, WRONG)],
    }
    for rows in shards.values():
        for row in rows:
            row |= {"letter_mass": None, "logit": None, "logprob_full": None}
    found = figures(measure(tmp_path, items, shards).summary)
    assert found["letter_mass"]["value"] is None and found["letter_mass_low"]["value"] is None
    assert found["ras"]["value"] < -0.5
