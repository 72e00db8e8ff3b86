"""The CSV files of the main job, recomputed from the score shards by a reader with nothing but NumPy."""

import csv

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from vlmdx.schema import read_provenance

from tests.reliability import scripts
from tests.reliability.synthetic_scores import FAMILIES, SETTINGS, make_scores, write_shards

MODELS = {"zeta": 0.4, "alpha": 1.5}  # listed in config order, not by name


@pytest.fixture(scope="module")
def results(world, tmp_path_factory):
    """Both scripts of the stage run as their rules would run them."""
    folder = tmp_path_factory.mktemp("results")
    tables = ("cells", "trajectories", "summary", "position", "set_aside")
    for seed, (model, skill) in enumerate(MODELS.items()):
        paths = write_shards(folder / "scores" / model, make_scores(world["items"], seed=seed + 10, skill=skill))
        outputs = {table: folder / "reliability" / model / f"{table}.parquet" for table in tables}
        inputs = {"scores": paths, "questions": world["questions"]}
        scripts.run("reliability", inputs, outputs, SETTINGS, model=model)
    gathered = {
        "summaries": [folder / "reliability" / model / "summary.parquet" for model in MODELS],
        "positions": [folder / "reliability" / model / "position.parquet" for model in MODELS],
    }
    names = ("table", "by_severity", "by_corruption", "position_bias")
    outputs = {name: folder / f"{name}.csv" for name in names}
    scripts.run("ras_table", gathered, outputs, {"models": list(MODELS), "families": FAMILIES})
    return folder


def recompute(folder, model, gold):
    """Independent of the package: S, C and RAS per cell from the stored float32 probabilities."""
    frame = pd.concat(pq.read_table(p).to_pandas() for p in sorted((folder / "scores" / model).glob("*.parquet")))
    rows = []
    for (item_id, corruption, severity), group in frame.groupby(["item_id", "corruption", "severity"]):
        group = group.sort_values("option_index")
        p, right = group["prob"].to_numpy(np.float64), group["chosen"].to_numpy(bool).argmax() == gold[item_id]
        s = -sum(x * np.log(x) for x in p if x > 0) / np.log(len(p))
        brier = ((p - (np.arange(len(p)) == gold[item_id])) ** 2).sum()
        nll = -np.float64(group["logprob"].to_numpy()[gold[item_id]])
        rows.append((item_id, corruption, severity, right, min(s, 1.0), abs(p.max() - right), p.max(), brier, nll))
    table = pd.DataFrame(
        rows, columns=["item_id", "corruption", "severity", "right", "s", "c", "confidence", "brier", "nll"]
    )
    clean = table[table["corruption"] == "clean"].set_index("item_id").add_suffix("_clean")
    both = table[table["corruption"] != "clean"].join(clean, on="item_id")
    ds, dc = both["s"] - both["s_clean"], both["c"] - both["c_clean"]
    both["ras"] = -dc - dc.clip(0) * (-ds).clip(0) - (-dc).clip(0) * ds.clip(0)
    return both.assign(delta_s=ds, delta_c=dc)


def ece_of(confidence, right):
    bins = np.digitize(confidence, np.linspace(0, 1, 16), right=True)
    return sum(abs((right[bins == b] - confidence[bins == b]).sum()) for b in range(17)) / len(right)


def figures_of(cells):
    state = np.where(cells["right_clean"], "c", "w") + np.where(cells["right"], "c", "w").astype(object)
    found = {
        "accuracy_clean": cells["right_clean"].mean(),
        "accuracy_corrupted": cells["right"].mean(),
        "accuracy_delta": cells["right"].mean() - cells["right_clean"].mean(),
        "delta_s": cells["delta_s"].mean(),
        "delta_c": cells["delta_c"].mean(),
        "ras": cells["ras"].mean(),
        "destructive": cells.loc[cells["right_clean"], "ras"].sum() / len(cells),
        "corrective": cells.loc[~cells["right_clean"], "ras"].sum() / len(cells),
        "ece_clean": ece_of(cells["confidence_clean"].to_numpy(), cells["right_clean"].to_numpy()),
        "ece_corrupted": ece_of(cells["confidence"].to_numpy(), cells["right"].to_numpy()),
        "brier_clean": cells["brier_clean"].mean(),
        "brier_corrupted": cells["brier"].mean(),
        "nll_clean": cells["nll_clean"].mean(),
        "nll_corrupted": cells["nll"].mean(),
        "silent_degradation": ((state == "cc") & (cells["ras"] < 0)).mean(),
        "lucky_gain": (state == "wc").mean(),
    }
    for name in ("cc", "cw", "wc", "ww"):
        found[f"share_{name}"] = (state == name).mean()
        found[f"ras_{name}"] = cells.loc[state == name, "ras"].mean()
    return {name: float(value) for name, value in found.items() if not np.isnan(value)}


def read_csv(path):
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def check(row, cells):
    expected = figures_of(cells)
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected, abs=1e-9, rel=0)


def test_tables_equal_an_independent_recomputation(world, results):
    gold = {item["item_id"]: item["answer"] for item in world["items"]}
    table, by_severity, by_corruption = (
        read_csv(results / f"{n}.csv") for n in ("table", "by_severity", "by_corruption")
    )
    assert [row["model"] for row in table] == list(MODELS)
    assert len(by_severity) == 2 * 5 and len(by_corruption) == 2 * 19
    for row in table:
        cells = recompute(results, row["model"], gold)
        check(row, cells)
        assert (int(row["items"]), int(row["set_aside"]), int(row["cells"])) == (24, 0, 24 * 95)
        for part in (r for r in by_severity if r["model"] == row["model"]):
            check(part, cells[cells["severity"] == int(part["severity"])])
        for part in (r for r in by_corruption if r["model"] == row["model"]):
            check(part, cells[cells["corruption"] == part["corruption"]])
            assert part["corruption"] in FAMILIES[part["family"]]
        assert float(row["ras_low"]) < float(row["ras"]) < float(row["ras_high"])


def test_trajectory_shares_equal_a_loop_over_paths(world, results):
    gold = {item["item_id"]: item["answer"] for item in world["items"]}
    for row in read_csv(results / "table.csv"):
        cells = recompute(results, row["model"], gold)
        kinds = []
        for _, path in cells.sort_values("severity").groupby(["item_id", "corruption"]):
            changed = (path["right"] != path["right_clean"]).tolist()
            kinds.append(None if not any(changed) else all(changed[changed.index(True) :]))
        assert float(row["persistent"]) == pytest.approx(kinds.count(True) / len(kinds), abs=1e-12)
        assert float(row["transient"]) == pytest.approx(kinds.count(False) / len(kinds), abs=1e-12)
        assert kinds.count(True) and kinds.count(False)


def test_columns_stand_in_the_documented_order(results):
    header = (results / "table.csv").read_text().splitlines()[0]
    assert header.startswith(
        "model,items,set_aside,accuracy_clean,accuracy_corrupted,accuracy_delta,delta_s,delta_c,ras,ras_low,ras_high,"
        "destructive,corrective,share_cc,share_cw,share_wc,share_ww,ras_cc,ras_cw,ras_wc,ras_ww,ece_clean,ece_corrupted,"
        "brier_clean,brier_corrupted,nll_clean,nll_corrupted,silent_degradation,lucky_gain,transient,persistent,"
        "position_bias,tied,letter_mass,"
    )
    assert (results / "by_severity.csv").read_text().startswith("model,severity,")
    assert (results / "by_corruption.csv").read_text().startswith("model,family,corruption,")


def test_position_bias_is_the_total_variation_distance(results):
    letters = read_csv(results / "position_bias.csv")
    for row in read_csv(results / "table.csv"):
        mine = [r for r in letters if r["model"] == row["model"]]
        distance = sum(abs(float(r["chosen"]) - float(r["gold"])) for r in mine) / 2
        assert float(row["position_bias"]) == pytest.approx(distance, abs=1e-12)
        assert {float(r["position_bias"]) for r in mine} == {float(row["position_bias"])}
        assert sum(float(r["chosen"]) for r in mine) == pytest.approx(1)


def test_numbers_survive_the_csv_to_the_last_bit(results):
    summary = pq.read_table(results / "reliability" / "alpha" / "summary.parquet").to_pylist()
    ras = next(r for r in summary if (r["scope"], r["metric"]) == ("all", "ras"))
    row = next(r for r in read_csv(results / "table.csv") if r["model"] == "alpha")
    assert (float(row["ras"]), float(row["ras_low"]), float(row["ras_high"])) == (ras["value"], ras["low"], ras["high"])


def test_footer_tells_what_made_the_table(results):
    footer = read_provenance(results / "reliability" / "alpha" / "cells.parquet")
    assert footer["rule"] == "reliability" and footer["wildcards"] == {"model": "alpha"}
    assert len(footer["inputs"]) == 7
