"""GRPO of two real architectures under a verifier of kind ``vlm``, by the workflow's own rules; killed and resumed."""

import csv
import shutil
import subprocess
import time

import psutil
import pytest
from vlmdx.schema import read_table
from vlmdx.schema.tables import ROLLOUTS

from tests.workflow import tiny_roles
from tests.workflow.project import command, copy_project, environment, run

CONFIG = "tests/workflow/discovery_tiny.yaml"
JOB = "results/discovery/tiny/rl/0"
TARGET = f"{JOB}/training.parquet"
STEPS, QUESTIONS, GENERATIONS = 4, 8, 4


@pytest.fixture(scope="module", params=["qwen", "smolvlm"])
def folder(request, tmp_path_factory):
    """A project with photos and tiny models, and an unbroken training in it."""
    folder = copy_project(tmp_path_factory.mktemp(request.param) / "run")
    tiny_roles.make(folder / "tiny", request.param)
    done = run(folder, "--quiet", "rules", "--", TARGET, config=CONFIG)
    assert done.returncode == 0, done.stdout
    return folder


def rollouts(folder):
    return read_table(folder / TARGET, ROLLOUTS).to_pylist()


def log(folder):
    with (folder / JOB / "history" / "log.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_four_steps_with_a_vlm_as_verifier(folder):
    rows = rollouts(folder)
    assert [row["step"] for row in rows] == [step for step in range(1, STEPS + 1) for _ in range(QUESTIONS)]
    held_out_of_training = 8 - len({row["image_id"] for row in rows})
    assert held_out_of_training >= 4  # 4 of 8 photos are trained on
    judged = [row for row in rows if row["validity_detail"] == "scripted"]
    assert {row["valid"] for row in judged} == {True, False}  # the verifier has read, and told both kinds apart
    for row in rows:
        assert (row["criterion"] is None) == row["valid"] == (row["answer"] is not None)
        assert row["reward"] == (row["delta"] if row["valid"] else -0.5), row  # whatever it said is judged incorrect
        if row["valid"]:
            assert (row["correct"], row["reference"], row["judgement_detail"]) == (False, "red", "scripted")
    lines = log(folder)
    assert [int(line["step"]) for line in lines] == list(range(1, STEPS + 1))
    assert all(float(line["grad_norm"]) > 0 and float(line["zero_spread"]) < 1 for line in lines)
    # The proof that the image reaches policy and reference is made in the first step, which fails without it. The two
    # are the same model then, and another one when weights have moved.
    kl = [float(line["kl"]) for line in lines]
    assert kl[0] == pytest.approx(0, abs=1e-6) and all(value > 0 for value in kl[1:])
    assert (folder / JOB / "checkpoint" / "config.json").exists()
    assert not (folder / JOB / "training").exists(), "only an unfinished job needs it"


def test_killed_in_step_4_the_same_command_gives_the_same_rewards(folder, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(folder, again, symlinks=True)
    shutil.rmtree(again / "results" / "discovery")
    process = psutil.Popen(
        command("--quiet", "rules", "--", TARGET, config=CONFIG),
        cwd=again,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    parts, deadline = again / JOB / "training" / "rollouts", time.monotonic() + 600
    while not (parts / "step-00003.parquet").exists():
        assert process.poll() is None and time.monotonic() < deadline, "step 3 was never seen"
        time.sleep(0.02)
    jobs = process.children(recursive=True)
    for killed in (process, *jobs):
        killed.kill()
    psutil.wait_procs([process, *jobs], timeout=60)
    assert not (again / TARGET).exists() and not (parts / "step-00004.parquet").exists()

    done = run(again, "--quiet", "rules", "--", TARGET, config=CONFIG)
    assert done.returncode == 0, done.stdout
    assert "going on after step 2" in (again / "logs/train_questioner/tiny/rl/0.log").read_text()
    assert rollouts(again) == rollouts(folder)  # questions, verdicts, rewards: to the last bit
    whole, resumed = ([{**line, "seconds": ""} for line in log(each)] for each in (folder, again))
    assert resumed == whole
