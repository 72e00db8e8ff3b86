"""What stops before any job, and what plans."""

import subprocess
import sys

import pytest

from tests.workflow.project import ROOT, copy_project, environment, run


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


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the project, whose config is there to be broken."""
    return copy_project(tmp_path_factory.mktemp("checkout"))


# What stands in line 1 of config/config.yaml -> what is said. Many more kinds: tests/config/test_files.py.
BROKEN = {
    b"# caf\xe9": "byte 0xe9 is no UTF-8; save the file as UTF-8",
    b"seed: 2024-13-45": "'2024-13-45' cannot be read as timestamp",
    b'seed: "\\Uffffffff"': "no such character",
    b"seed: " + b"[" * 5000: "nested too deeply",
}


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: repr(text[:20]))
def test_a_slip_in_the_config_is_one_line_and_no_traceback(checkout, text):
    config = checkout / "config" / "config.yaml"
    good = config.read_bytes()
    config.write_bytes(text + b"\n" + good)
    try:
        done = run(checkout, "-n", config=None)
    finally:
        config.write_bytes(good)
    assert done.returncode != 0 and "Traceback" not in done.stdout, done.stdout
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("config: ")]
    assert BROKEN[text] in said and not (checkout / "results").exists()


def test_the_same_slip_behind_configfile_starts_nothing(tmp_path):
    """Snakemake reads that file by itself and shows its own traceback; `vlmdx check-config` names the line."""
    (tmp_path / "my.yaml").write_bytes(b"# caf\xe9\n")
    done = run(tmp_path, "-s", str(ROOT / "Snakefile"), config="my.yaml")
    assert done.returncode != 0 and not (tmp_path / "results").exists()


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
