"""A copy of the project in a folder of its own, and ways to run Snakemake in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = "tests/workflow/small.yaml"


def copy_project(folder: Path) -> Path:
    """Copy what git tracks (or would track) to ``folder``; results and environments stay behind."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def command(*words: str, config: str | None = SMALL) -> list[str]:
    """The Snakemake command line; the config stands before the options that end it."""
    chosen = ["--configfile", config] if config else []
    return [sys.executable, "-m", "snakemake", *chosen, "--cores", "2", *words]


def environment(**extra: str) -> dict[str, str]:
    """One thread per process, and no package path of the surrounding checkout."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {"OMP_NUM_THREADS": "1"} | extra


def run(folder: Path, *words: str, config: str | None = SMALL, **extra: str) -> subprocess.CompletedProcess:
    """Run Snakemake in ``folder`` and return what it printed (stdout and stderr together)."""
    return subprocess.run(
        command(*words, config=config),
        cwd=folder,
        env=environment(**extra),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def planned(folder: Path, *words: str, config: str | None = SMALL, **extra: str) -> dict[str, int]:
    """Number of jobs per rule that a dry run lists; empty if nothing is to be done."""
    done = run(folder, "-n", "--quiet", "rules", "--", *words, config=config, **extra)
    assert done.returncode == 0, done.stdout
    counts: dict[str, int] = {}
    for line in done.stdout.split("Reasons:")[0].splitlines():
        words_ = line.split()
        if len(words_) == 2 and words_[1].isdigit() and words_[0] != "total":
            counts[words_[0]] = int(words_[1])
    return counts
