"""The finished small run of the workflow tests, and ways to audit copies of it."""

import os
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest

from tests.workflow.project import SMALL, environment


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

    def jobs(self):
        """Jobs to run again, by rule, as a dry run of Snakemake counts them."""
        wanted = {(r["rule"], r["present_digest"]) for r in self.rows.values() if r["status"] in ("stale", "missing")}
        return Counter(rule for rule, _ in wanted)


@pytest.fixture
def copy(finished, tmp_path):
    """The finished run, times and all."""
    folder = tmp_path / "copy"
    subprocess.run(["cp", "-a", os.fspath(finished), os.fspath(folder)], check=True)
    return folder
