"""Runs that accidents happen to, and the undisturbed run they are compared with."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.workflow.project import SMALL, environment

TABLES = ("ras_table.csv", "ras_by_severity.csv", "ras_by_corruption.csv", "position_bias.csv", "accounting.csv")
MAIN = "results/ras_table.csv"
BOUND = 1800  # seconds until a Snakemake that does not end fails its test; many times what any of them takes
# Imported by every Python that a job starts. What is to happen stands in files that are taken away as it happens, so
# that it happens once; no code of the project is touched, so no digest changes.
ACCIDENT = """
import os, pathlib, signal, sys, time
for note in pathlib.Path({folder!r}).glob("*.accident"):
    rule, kind, value = note.stem.split("-")
    if not any(word.endswith("." + rule + ".py") for word in sys.orig_argv):
        continue
    try:
        note.unlink()
    except FileNotFoundError:
        continue
    if kind == "sleep":
        time.sleep(float(value))
    if kind == "half":
        def die(self, target, _replace=pathlib.Path.replace):
            if self.suffix == ".parquet":
                whole = self.read_bytes()
                self.write_bytes(whole[: len(whole) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return _replace(self, target)
        pathlib.Path.replace = die
    if kind in ("late", "count"):
        def renamed(self, target, _replace=pathlib.Path.replace, kind=kind, value=value):
            done = _replace(self, target)
            if kind == "count":
                with open({folder!r} + "/renamed", "a") as file:
                    print(target, file=file)
            elif ".parts-" in str(target):
                time.sleep(float(value))
            return done
        pathlib.Path.replace = renamed
"""


class Run:
    """A copy of a finished run in which what lies behind the answers is to be made again."""

    def __init__(self, folder: Path, accidents: Path) -> None:
        self.folder, self.accidents = folder, accidents

    def plan(self, rule: str, kind: str, value: str = "0") -> None:
        """Let a job of ``rule`` sleep, sleep after a cell (late), die half-way through a file, or count its files."""
        (self.accidents / f"{rule}-{kind}-{value}.accident").touch()

    def start(self, *words: str, target: str = MAIN) -> subprocess.Popen:
        """Snakemake in the background; its output goes to `snakemake.out`."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--configfile", SMALL, *words, "--", target],
            cwd=self.folder,
            env=environment(PYTHONPATH=str(self.accidents)),
            stdout=(self.folder / "snakemake.out").open("w"),
            stderr=subprocess.STDOUT,
            # A shell that starts its jobs in the background lets them ignore Ctrl-C, and they would pass that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            start_new_session=True,  # a group of its own, as a shell gives it: Ctrl-C goes to all of the group
        )

    def finish(self, *words: str) -> str:
        """Snakemake to its end, which must be good; what it said."""
        status = self.start(*words).wait(BOUND)
        assert status == 0, self.said()
        return self.said()

    def said(self) -> str:
        return (self.folder / "snakemake.out").read_text()

    def tables(self) -> dict[str, bytes]:
        return {name: (self.folder / "results" / name).read_bytes() for name in TABLES}


def end_all_in(folder: Path) -> None:
    """Kill what still works in a run's folder: jobs outlive a killed Snakemake."""
    for process in psutil.process_iter(["cwd"]):
        if process.info["cwd"] == os.fspath(folder):
            process.kill()


@pytest.fixture
def undisturbed(finished):
    """The tables as they must be."""
    return {name: (finished / "results" / name).read_bytes() for name in TABLES}


@pytest.fixture
def rerun(finished, tmp_path):
    """The finished run without one model's reliability and the tables: five jobs in three levels."""
    folder, accidents = tmp_path / "run", tmp_path / "accidents"
    subprocess.run(["cp", "-a", os.fspath(finished), os.fspath(folder)], check=True)
    accidents.mkdir()
    (accidents / "sitecustomize.py").write_text(ACCIDENT.format(folder=str(accidents)))
    for path in [*(folder / "results/reliability/qwen-demo").iterdir(), *(folder / "results").glob("*.csv")]:
        path.unlink()
    yield Run(folder, accidents)
    end_all_in(folder)
