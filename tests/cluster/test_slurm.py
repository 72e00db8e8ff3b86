"""The main job and its accidents on a real SLURM: `make test-slurm` (tests/cluster/run.sh) starts and stops it."""

import json
import os
import shutil
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from tests.cluster.conftest import BOUND, MAIN, Run, end_all_in
from tests.workflow.project import SMALL, copy_project, planned

pytestmark = pytest.mark.skipif("VLMDX_SLURM" not in os.environ, reason="needs a SLURM cluster; run `make test-slurm`")

SLURM = ("--profile", "slurm")
GPU_RULES = {"score", "embed_pool", "effects", "plot_overlays"}
BOX = Path(os.environ.get("SLURM_CONF", "/")).parent.parent  # where tests/cluster/slurm.sh keeps its cluster


def queue(run):
    """Id, state, node and comment of each of a run's own jobs in the queue; other tests run beside this one."""
    asked = ["squeue", "--me", "--noheader", "--format=%i|%T|%N|%k|%Z"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("|")[:4] for line in lines if line.split("|")[4] == os.fspath(run.folder)]


def wait_for(condition, what, seconds=300):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.2)
    return found


def caught(run, rule):
    """Id and node of a rule's SLURM job that has met its accident; the rule's name stands in the job's comment."""
    if list(run.accidents.glob("*.accident")):
        return None
    for job, state, node, comment in queue(run):
        if state == "RUNNING" and comment.startswith(f"rule_{rule}"):
            return job, node
    return None


def records(folder):
    files = [p for p in (folder / "results/provenance").rglob("*.json") if p.parent.name != "digests"]
    return [json.loads(path.read_text()) for path in files]


@pytest.fixture(scope="session")
def on_cluster(tmp_path_factory):
    """The demo's main job in small, from a clean checkout, through the profile; several pytest workers share one."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    run, took = Run(root / "on-slurm", root / "no-accidents"), root / "on-slurm.seconds"
    with FileLock(root / "on-slurm.lock"):
        if not took.exists():
            copy_project(run.folder)
            began = time.monotonic()
            try:
                run.finish(*SLURM)  # snakemake --profile slurm results/ras_table.csv, and the config of the small demo
            finally:
                end_all_in(run.folder)
            took.write_text(str(time.monotonic() - began))
    run.seconds = float(took.read_text())
    return run


def test_the_main_job_runs_and_gpu_rules_land_on_the_gpu_node_alone(on_cluster, undisturbed):
    assert on_cluster.tables() == undisturbed
    made = records(on_cluster.folder)
    on_gpu = {r["rule"] for r in made if r["slurm"] and r["slurm"]["node"] == "gpu1"}
    assert on_gpu == {r["rule"] for r in made} & GPU_RULES
    for record in made:
        assert (record["slurm"]["node"] == "gpu1") == (record["rule"] in GPU_RULES), record["rule"]
        if record["rule"] in GPU_RULES:
            assert record["slurm"]["gpus"] in ("0", "1"), "one GPU, and a job's own"
    worked = sum(record["seconds"] for record in made)
    spans = [datetime.fromisoformat(r["began"]).timestamp() for r in made]
    print(
        f"\n{len(made)} jobs in {on_cluster.seconds:.0f} s of wall time; {worked:.0f} s of them in scripts; "
        f"first to last start {max(spans) - min(spans):.0f} s; "
        f"overhead per job {(on_cluster.seconds - worked) / len(made):.1f} s"
    )


def test_one_more_model_submits_its_own_jobs_and_nothing_else(on_cluster, tmp_path):
    folder = tmp_path / "run"
    subprocess.run(["cp", "-a", on_cluster.folder, folder], check=True)
    config = yaml.safe_load((folder / SMALL).read_text())
    shutil.copytree(folder / "resources/models/qwen-demo", folder / "resources/models/third")
    config["models"]["third"] = {"source": "resources/models/third"}
    (folder / SMALL).write_text(yaml.safe_dump(config))
    assert planned(folder, MAIN) == {"score": 3, "reliability": 1, "accounting": 1, "ras_table": 1}
    said = Run(folder, tmp_path).finish(*SLURM)
    assert said.count("has been submitted with SLURM jobid") == 6
    assert b"\nthird," in (folder / "results/ras_table.csv").read_bytes()


def test_a_cancelled_job_is_tried_again(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "300")
    process = rerun.start(*SLURM)
    job, _ = wait_for(lambda: caught(rerun, "reliability"), "the job")
    subprocess.run(["scancel", job], check=True)
    assert process.wait(BOUND) == 0, rerun.said()
    assert rerun.tables() == undisturbed


def test_s07_killed_with_jobs_in_the_queue_waits_for_them_and_goes_on(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "45")
    process = rerun.start(*SLURM)
    job, _ = wait_for(lambda: caught(rerun, "reliability"), "the job")
    process.kill()
    process.wait()
    refused = rerun.start(*SLURM)
    assert refused.wait(BOUND) != 0
    assert f"scancel {job}" in rerun.said(), rerun.said()
    wait_for(lambda: not queue(rerun), "the end of the orphan")
    rerun.finish(*SLURM)
    assert rerun.tables() == undisturbed


def test_s09_killed_for_memory_and_the_next_try_asks_for_more(rerun, undisturbed):
    said = rerun.finish(*SLURM, "--set-resources", "reliability:mem_mb=100 * attempt ** 6")
    assert "exceeded memory limit" in said and said.count("Trying to restart job") == 1
    assert rerun.tables() == undisturbed


def test_s09_out_of_time_and_the_next_try_asks_for_more_and_goes_on_where_it_stopped(rerun, finished, undisturbed):
    """What sizes a job: it may be cut off after any time, and pays with the cell that it was at."""
    shard = "results/scores/llava-demo/pool/noise.parquet"
    (rerun.folder / shard).unlink()
    rerun.plan("score", "late", "600")
    # These words take the place of all that the profile says under that key.
    resources = ["score:runtime=2 * attempt ** 4", "score:slurm_partition=gpu"]
    process = rerun.start(*SLURM, "--set-resources", *resources, target=shard)
    wait_for(lambda: caught(rerun, "score"), "the job")
    first = wait_for(lambda: list((rerun.folder / shard).parent.glob(".parts-*/[!.]*.parquet")), "the first cell")
    rerun.plan("score", "count")
    assert process.wait(BOUND) == 0, rerun.said()
    assert "TIMEOUT" in rerun.said() and rerun.said().count("Trying to restart job") == 1
    renamed = [Path(line) for line in (rerun.accidents / "renamed").read_text().splitlines()]
    cells = [path for path in renamed if path.parent.name.startswith(".parts-")]
    assert len(first) == 1 and cells and first[0].name not in {path.name for path in cells}
    assert (rerun.folder / shard).read_bytes() == (finished / shard).read_bytes()
    rerun.finish("--cores", "1")
    assert rerun.tables() == undisturbed


def test_a_node_that_dies_under_a_job(rerun, undisturbed):
    """On nodes that no other test's jobs are on."""
    rerun.plan("reliability", "sleep", "600")
    process = rerun.start(*SLURM, "--set-resources", "reliability:slurm_partition=spare")
    job, node = wait_for(lambda: caught(rerun, "reliability"), "the job")
    try:
        # The job's own step processes, by the job's id, and the node's daemon, by its pid file.
        listed = subprocess.run(["pgrep", "-f", rf"slurmstepd: \[{job}\."], capture_output=True, text=True)
        steps, daemon = listed.stdout.split(), int((BOX / f"run/{node}.pid").read_text())
        for pid in [daemon, *map(int, steps)]:
            os.kill(pid, signal.SIGKILL)
        assert process.wait(BOUND) == 0, rerun.said()
    finally:
        subprocess.run(["slurmd", "-N", node], check=True)
    assert rerun.tables() == undisturbed
