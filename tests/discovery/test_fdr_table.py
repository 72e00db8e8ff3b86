"""results/fdr_table.csv: one line per run and method, and what it refuses."""

import pandas as pd
import pytest
from vlmdx.schema import write_table
from vlmdx.schema.tables import ROLLOUTS, SKILLS

from tests.discovery.fakes import embed
from tests.discovery.made_up import rollouts, row, weak_at_counting
from tests.reliability.scripts import run

SETTINGS = {"runs": ["one", "two"], "methods": ["zero-shot", "rl"], "encoder": {}, "replicates": 200,
            "confidence": 0.95, "seed": 0}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_encoder(monkeypatch):
    monkeypatch.setattr("vlmdx.discovery.embedder.Embedder.__call__", lambda self, texts: embed(texts))


def written(folder, rows):
    write_table(folder / "rollouts.parquet", rows, ROLLOUTS)
    keys = sorted({(r["image_id"], r["question"]) for r in rows if r["valid"]})
    skills = [{"image_id": i, "question": q, "skills": q.lower().split()[:2]} for i, q in keys]
    write_table(folder / "skills.parquet", skills, SKILLS)


def table(root, **more):
    settings = SETTINGS | more
    given = {name: [root / r / f"{name}.parquet" for r in settings["runs"]] for name in ("rollouts", "skills")}
    run("fdr_table", given, {"table": root / "fdr_table.csv"}, settings)
    return pd.read_csv(root / "fdr_table.csv").set_index(["run", "method"])


def test_one_line_per_run_and_method_in_the_order_of_the_config(tmp_path):
    rows = rollouts(weak_at_counting, images=12, seeds=(0, 1))
    written(tmp_path / "one", rows)
    written(tmp_path / "two", rollouts(lambda *_: False, images=12))
    found = table(tmp_path)
    assert list(found.index) == [(r, m) for r in ("one", "two") for m in ("zero-shot", "rl")]
    assert found.loc[("one", "rl"), ["images", "questions", "seeds"]].tolist() == [12, 120, 2]
    held = [r for r in rows if r["method"] == "rl" and r["phase"] == "held-out"]
    failed = sum(r["valid"] and r["correct"] is False for r in held)
    line = found.loc[("one", "rl")]
    assert line["fdr"] == pytest.approx(failed / 120, rel=1e-5)
    assert line["fdr_low"] < line["fdr"] < line["fdr_high"]
    assert line["fdr_gain"] == pytest.approx(line["fdr"] - found.loc[("one", "zero-shot"), "fdr"], rel=1e-4)
    assert pd.isna(found.loc[("one", "zero-shot"), "fdr_gain"])
    assert found.loc[("two", "rl"), "fdr"] == 0
    assert found.loc[("two", "rl"), "skill_coverage"] == 0
    assert {"fdr_valid", "validity", "undecided", "lexical_diversity", "semantic_diversity", "skills_per_question",
            "skill_combinations_high"} <= set(found.columns)  # fmt: skip
    before = (tmp_path / "fdr_table.csv").read_bytes()
    table(tmp_path)
    assert (tmp_path / "fdr_table.csv").read_bytes() == before


@pytest.mark.parametrize("lost", [{"valid": None}, {"correct": None}])
def test_a_method_whose_questions_are_all_undecided_is_refused(tmp_path, lost):
    rows = [row(image_id=f"i{n}", method=m, **(lost if m == "rl" else {}))
            for n in range(4) for m in ("zero-shot", "rl")]  # fmt: skip
    written(tmp_path / "one", rows)
    with pytest.raises(ValueError, match="'rl': the verifier decided none of 4 held-out questions"):
        table(tmp_path, runs=["one"])


def test_a_method_that_is_not_there_is_refused(tmp_path):
    written(tmp_path / "one", [row(image_id=f"i{n}") for n in range(4)])
    with pytest.raises(ValueError, match="'rl' has no held-out questions"):
        table(tmp_path, runs=["one"])
