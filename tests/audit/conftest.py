"""The finished small run of the workflow tests, a larger one with all kinds of artifacts, and ways to audit copies."""

import os
import shlex
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from tests.workflow.project import SMALL, environment, run

WHOLE = "tests/audit/whole.yaml"
MECHANISM = "results/mechanism/qwen-demo/shapes"
SECRETS = {"HF_TOKEN": "hf_neverWriteThisDown", "OPENAI_API_KEY": "sk-neverWriteThisDown"}


def vlmdx(folder, *words, **extra):
    """Run the command in ``folder`` with the package of that checkout."""
    return subprocess.run(
        [sys.executable, "-c", "from vlmdx.cli import app; app()", *map(str, words)],
        cwd=folder,
        env=environment(PYTHONPATH=str(folder / "workflow"), COLUMNS="200", **extra),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def printed_command(said):
    """Words of the last `snakemake ...` line that a command printed, without the first."""
    lines = [line for line in said.splitlines() if line.startswith("snakemake ")]
    return shlex.split(lines[-1])[1:] if lines else None


def jobs_of(folder, words):
    """Jobs by rule of a real dry run of Snakemake, without the rules that only name targets."""
    done = run(folder, "--dry-run", "--quiet", "rules", *words, config=None)
    assert done.returncode == 0, done.stdout
    pairs = (line.split() for line in done.stdout.split("Reasons:")[0].splitlines())
    jobs = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
    return Counter({rule: n for rule, n in jobs.items() if rule not in ("total", "all", "mechanism")})


class Audited:
    """Findings of one audit by path, the exit status and what was printed."""

    def __init__(self, folder, config=SMALL):
        out = folder / "audit.parquet"
        done = vlmdx(folder, "audit", "--configfile", config, "--parquet", out, "--rerun")
        assert out.is_file(), done.stdout
        self.status, self.said = done.returncode, done.stdout
        self.rows = {row["path"]: row for row in pq.read_table(out).to_pylist()}

    def bad(self):
        return {path: row["status"] for path, row in self.rows.items() if row["status"] != "verified"}

    def stale_jobs(self):
        """Jobs whose artifacts are stale, by rule."""
        return Counter(rule for rule, _ in {(r["rule"], r["present_digest"]) for r in self.rows.values() if stale(r)})

    def hinted_jobs(self):
        """Jobs by rule that the hint lists."""
        (line,) = [line for line in self.said.splitlines() if " jobs to run again" in line]
        listed = line.partition("(")[2].rpartition(")")[0].split(", ")
        return Counter({word.split()[1]: int(word.split()[0]) for word in filter(None, listed)})


def stale(row):
    return row["status"] == "stale"


def copy_of(folder, target):
    """A copy, times and all."""
    subprocess.run(["cp", "-a", os.fspath(folder), os.fspath(target)], check=True)
    return target


@pytest.fixture
def copy(finished, tmp_path):
    """The finished run, times and all."""
    return copy_of(finished, tmp_path / "copy")


@pytest.fixture(scope="session")
def whole(finished, tmp_path_factory):
    """The finished run with a mechanism, the ledger and the catalogue on top, made with secrets in the environment.

    Read it, copy it; do not change it.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # the folder that all workers share
    folder, done = root / "whole run", root / "whole"
    with FileLock(root / "whole.lock"):
        if not done.exists():
            copy_of(finished, folder)
            # The catalogue tells of what stands when it is made: a command of its own.
            for targets in ([f"{MECHANISM}/failure_modes.csv", f"{MECHANISM}/overlays.png"], ["results/catalog.sql"]):
                made = run(folder, "--quiet", "rules", "--", *targets, config=WHOLE, **SECRETS)
                assert made.returncode == 0, made.stdout
            done.touch()
    return folder


@pytest.fixture
def whole_copy(whole, tmp_path):
    """The whole run, times and all."""
    return copy_of(whole, tmp_path / "copy")
