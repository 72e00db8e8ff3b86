"""S07, P01: killed means resumed. The same command goes on, and the tables are those of an undisturbed run."""

import subprocess
import time

import psutil
import pytest

from tests.workflow.project import command, copy_project, environment, run

TABLES = ["ras_table.csv", "ras_by_severity.csv", "ras_by_corruption.csv", "position_bias.csv"]


def finished_cells(folder):
    return [p for p in (folder / "results" / "scores").rglob("*.parquet") if p.parent.name.startswith(".parts")]


def scoring_jobs(process):
    found = []
    for child in process.children(recursive=True):
        try:
            if any("score.py" in word for word in child.cmdline()):
                found.append(child)
        except psutil.NoSuchProcess:
            pass
    return found


@pytest.mark.parametrize("victim", ["snakemake", "scoring job"])
def test_s07_kill_in_mid_scoring_then_the_same_command(finished, tmp_path, victim):
    folder = copy_project(tmp_path / "run")
    words = command("--quiet", "rules", "--", "results/ras_table.csv")
    process = psutil.Popen(words, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (finished_cells(folder) and scoring_jobs(process)):
        assert process.poll() is None and time.monotonic() < deadline, "no scoring job was ever seen at work"
        time.sleep(0.02)
    jobs = scoring_jobs(process)
    if victim == "snakemake":
        process.kill()  # SIGKILL: the lock and the incomplete marks stay, other jobs go on as orphans
    for job in jobs[:1]:
        job.kill()
    process.wait(300)
    assert not (folder / "results" / "ras_table.csv").exists()

    again = run(folder, "--quiet", "rules", "--", "results/ras_table.csv")
    assert again.returncode == 0, again.stdout
    for table in TABLES:
        assert (folder / "results" / table).read_bytes() == (finished / "results" / table).read_bytes(), table
    assert not finished_cells(folder), "parts are removed when the shard stands"


def test_p01_an_artifact_cut_short_is_named(finished, tmp_path):
    """A half file that stands under its final name, as a full disk leaves it, is reported with its path."""
    folder = copy_project(tmp_path / "run")
    subprocess.run(["cp", "-a", finished / "results", finished / ".snakemake", folder], check=True)
    shard = folder / "results" / "scores" / "qwen-demo" / "bench" / "noise.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])
    done = run(folder, "--quiet", "rules", "--forcerun", "reliability", "--", "results/ras_table.csv")
    assert done.returncode != 0
    assert "results/scores/qwen-demo/bench/noise.parquet" in done.stdout and "run again" in done.stdout
