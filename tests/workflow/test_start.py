"""What stops before any job, and what plans."""

import subprocess
import sys

import pytest

from tests.workflow.project import ROOT, environment, run


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sead=1", "config: sead: unknown key, did you mean 'seed'?"),
        ("corruptions={severities: [6]}", "less than or equal to 5, found '6'"),
        ("corruptions={names: [fogg]}", "found 'fogg'"),
        ("models={Qwen/Qwen2.5-VL-3B: {source: x}}", "not a slug"),
        ("models={qwen-demo: {source: Qwen/Qwen2.5-VL-3B-Instruct}}", "needs a `revision`"),
    ],
)
def test_a_typo_stops_before_any_job_with_one_line(tmp_path, setting, message):
    done = run(tmp_path, "-s", str(ROOT / "Snakefile"), "--config", setting, config=None)
    assert done.returncode != 0
    said = [line for line in done.stdout.splitlines() if "config: " in line]
    assert len(said) == 1 and message in said[0], done.stdout
    assert not (tmp_path / "results").exists()


def test_the_cluster_profile_plans(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--profile",
            "slurm",
            "-n",
            "--directory",
            str(tmp_path),
            "results/ras_table.csv",
        ],
        cwd=ROOT,
        env=environment(),
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert "ras_table" in done.stdout


def test_s03_a_misspelt_profile_says_what_it_looked_for(tmp_path):
    done = run(tmp_path, "-s", str(ROOT / "Snakefile"), "--profile", "slrum", "-n", config=None)
    assert done.returncode != 0 and "slrum" in done.stdout


def test_s03_runs_from_any_folder(tmp_path):
    done = run(tmp_path, "-s", str(ROOT / "Snakefile"), "-d", str(tmp_path / "run1"), "-n", config=None)
    assert done.returncode == 0, done.stdout


def test_lint_is_clean():
    done = run(ROOT, "--lint", config=None)
    assert done.returncode == 0, done.stdout
