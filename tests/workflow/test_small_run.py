"""A whole small workflow, and what a second start of it would do."""

import shutil

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from tests.workflow.project import SMALL, planned, run

TABLES_AND_FIGURES = {
    "accounting": 1,
    "ras_table": 1,
    "plot_ras_by_family": 1,
    "plot_severity_trends": 1,
    "plot_state_shares": 1,
    "plot_accuracy_ras": 1,
    "plot_corruption_heatmap": 1,
    "all": 1,
}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.fixture
def copy(finished, tmp_path):
    """The finished run in a new place with new file times: what a second clone with copied results sees."""
    return shutil.copytree(finished, tmp_path / "copy", copy_function=shutil.copyfile)


def test_s04_a_path_with_spaces_quotes_and_brackets_runs_to_the_end(finished):
    table = pd.read_csv(finished / "results" / "ras_table.csv")
    assert list(table["model"]) == ["qwen-demo", "llava-demo"]
    assert (table["items"] + table["set_aside"] == 16).all()
    for suffix in ("svg", "png"):
        assert len(list((finished / "results" / "figures").glob(f"*.{suffix}"))) == 7


@pytest.mark.parametrize("hash_seed", ["0", "1", "2"])
def test_nothing_to_be_done_after_a_finished_run(finished, hash_seed):
    assert planned(finished, "all", PYTHONHASHSEED=hash_seed) == {}


def test_s05_a_copy_with_new_file_times_recomputes_nothing(copy):
    assert planned(copy, "all") == {}


def test_s05_touching_and_commenting_reruns_nothing(copy):
    (copy / "workflow/scripts/score.py").touch()
    edit(copy / "workflow/scripts/plot_gini.py", "def main", "# a comment\ndef main")
    edit(copy / "workflow/vlmdx/scoring/readout.py", '"""', '"""Another word. ')
    assert planned(copy, "all") == {}


def test_s05_a_changed_prompt_reruns_scoring(copy):
    edit(copy / "resources/prompts/letter.txt", "directly", "now")
    jobs = planned(copy, "all")
    assert jobs["score"] == 6 and "corrupt" not in jobs and "import_dataset" not in jobs


def test_s05_changed_scoring_code_reruns_scoring(copy):
    edit(copy / "workflow/scripts/score.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    assert planned(copy, "all")["score"] == 6


def test_s05_changed_plot_code_redraws_that_plot_alone(copy):
    edit(copy / "workflow/scripts/plot_gini.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    assert planned(copy, "all") == {"plot_gini": 1, "all": 1}


def test_a_third_model_runs_alone(copy):
    config = yaml.safe_load((copy / SMALL).read_text())
    shutil.copytree(copy / "resources/models/qwen-demo", copy / "resources/models/third")
    config["models"]["third"] = {"source": "resources/models/third"}
    (copy / SMALL).write_text(yaml.safe_dump(config))
    assert planned(copy, "all") == {"score": 3, "reliability": 1, **TABLES_AND_FIGURES}


def test_a_new_voter_changes_the_selection(copy):
    config = yaml.safe_load((copy / SMALL).read_text())
    config["voters"] = ["qwen-demo"]
    (copy / SMALL).write_text(yaml.safe_dump(config))
    assert "select_bench" in planned(copy, "all")


def test_s02_a_stray_file_in_results_changes_nothing(copy):
    (copy / "results/scores/qwen-demo/pool/old_gaussian_noise_3.parquet").write_bytes(b"")
    assert planned(copy, "all") == {}


def test_every_parquet_file_opens_in_duckdb_and_carries_its_digest(finished):
    # The ledger is written by the audit, from the records of the jobs; it is no job's artifact.
    files = sorted(p for p in (finished / "results").rglob("*.parquet") if p.name != "provenance.parquet")
    assert len(files) > 20
    for path in files:
        duckdb.sql(f"SELECT count(*) FROM read_parquet('{str(path).replace(chr(39), chr(39) * 2)}')").fetchall()
        assert b'"digest"' in pq.read_schema(path).metadata[b"vlmdx"]


def test_the_table_equals_a_recomputation_from_the_score_files(finished):
    """A few lines of NumPy from the definitions, reading nothing but scores."""
    for _, row in pd.read_csv(finished / "results" / "ras_table.csv").iterrows():
        folder = finished / "results" / "scores" / row["model"] / "bench"
        scores = pd.concat([pq.read_table(path).to_pandas() for path in sorted(folder.glob("*.parquet"))])
        measured = {}
        for (item, corruption, severity), cell in scores.groupby(["item_id", "corruption", "severity"]):
            p = cell["prob"].to_numpy(float)
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum() / np.log(len(p))
            right = bool(cell["is_gold"].to_numpy()[cell["chosen"].to_numpy()][0])
            measured[item, corruption, severity] = (entropy, abs(p.max() - right))
        values = []
        for (item, _, severity), (entropy, misalignment) in measured.items():
            if severity > 0:
                clean_entropy, clean_misalignment = measured[item, "clean", 0]
                ds, dc = entropy - clean_entropy, misalignment - clean_misalignment
                values.append(-dc - max(dc, 0) * max(-ds, 0) - max(-dc, 0) * max(ds, 0))
        assert np.mean(values) == pytest.approx(row["ras"], abs=1e-9)


def test_the_resolved_config_is_kept_beside_the_results(finished):
    kept = yaml.safe_load((finished / "results" / "config.yaml").read_text())
    assert kept["corruptions"]["names"] == ["fog", "gaussian_noise"]
    assert kept["reliability"]["ece_bins"] == 15


def test_report_is_made(finished):
    done = run(finished, "--report", "report.html")
    assert done.returncode == 0, done.stdout
    assert (finished / "report.html").stat().st_size > 1_000_000
