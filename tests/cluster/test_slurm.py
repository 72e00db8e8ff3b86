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

from tests.cluster.conftest import MAIN, Run
from tests.workflow.project import SMALL, copy_project, planned

pytestmark = pytest.mark.skipif("VLMDX_SLURM" not in os.environ, reason="needs a SLURM cluster; run `make test-slurm`")

SLURM = ("--profile", "slurm")
GPU_RULES = {"score", "embed_pool", "effects"}


def squeue(*words):
    done = subprocess.run(["squeue", "--me", "-h", *words], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def wait_for(condition, what, seconds=300):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.2)
    return found


def caught(run, rule):
    """Id of a rule's SLURM job that has met its accident, which is to sleep; its name stands in the job's comment."""
    if list(run.accidents.glob("*.accident")):
        return None
    for job, state, comment in (line[:3] for line in squeue("-o", "%i %T %k") if len(line) >= 3):
        if state == "RUNNING" and comment.startswith(f"rule_{rule}"):
            return job
    return None


def records(folder):
    files = [p for p in (folder / "results/provenance").rglob("*.json") if p.parent.name != "digests"]
    return [json.loads(path.read_text()) for path in files]


@pytest.fixture(scope="session")
def on_cluster(tmp_path_factory):
    """The demo's main job in small, from a clean checkout, through the profile."""
    folder = copy_project(tmp_path_factory.mktemp("slurm") / "run")
    accidents = folder.parent / "accidents"
    accidents.mkdir()
    run = Run(folder, accidents)
    began = time.monotonic()
    run.finish(*SLURM)
    run.seconds = time.monotonic() - began
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
    subprocess.run(["scancel", wait_for(lambda: caught(rerun, "reliability"), "the job")], check=True)
    assert process.wait() == 0, rerun.said()
    assert rerun.tables() == undisturbed


def test_s09_killed_for_memory_and_the_next_try_asks_for_more(rerun, undisturbed):
    said = rerun.finish(*SLURM, "--set-resources", "reliability:mem_mb=100 * attempt ** 6")
    assert "exceeded memory limit" in said and said.count("Trying to restart job") == 1
    assert rerun.tables() == undisturbed


def test_s09_out_of_time_and_the_next_try_asks_for_more(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "600")
    said = rerun.finish(*SLURM, "--set-resources", "reliability:runtime=attempt")
    assert "TIMEOUT" in said and said.count("Trying to restart job") == 1
    assert rerun.tables() == undisturbed


def test_a_node_that_dies_under_a_job(rerun, undisturbed):
    box = Path(os.environ["SLURM_CONF"]).parents[1]
    rerun.plan("reliability", "sleep", "600")
    process = rerun.start(*SLURM)
    job = wait_for(lambda: caught(rerun, "reliability"), "the job")
    ((node,),) = squeue("-j", job, "-o", "%N")
    try:
        # The job's own step processes, by the job's id, and the node's daemon, by its pid file.
        listed = subprocess.run(["pgrep", "-f", rf"slurmstepd: \[{job}\."], capture_output=True, text=True)
        steps, daemon = listed.stdout.split(), int((box / f"run/{node}.pid").read_text())
        for pid in [daemon, *map(int, steps)]:
            os.kill(pid, signal.SIGKILL)
        assert process.wait() == 0, rerun.said()
    finally:
        subprocess.run(["slurmd", "-N", node], check=True)
    assert rerun.tables() == undisturbed


def test_s07_killed_with_jobs_in_the_queue_waits_for_them_and_goes_on(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "45")
    process = rerun.start(*SLURM)
    job = wait_for(lambda: caught(rerun, "reliability"), "the job")
    process.kill()
    process.wait()
    refused = rerun.start(*SLURM)
    assert refused.wait() != 0
    assert f"scancel {job}" in rerun.said(), rerun.said()
    wait_for(lambda: not squeue("-o", "%i"), "the end of the orphan")
    rerun.finish(*SLURM)
    assert rerun.tables() == undisturbed
