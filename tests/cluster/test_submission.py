"""S06, S08, S09: what reaches the queue, seen by stand-ins for SLURM's commands."""

import os
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.workflow.project import SMALL, environment, planned

SCORES = "results/scores/qwen-demo/pool/clean.parquet"


@pytest.fixture
def submitted(finished, tmp_path):
    """Ask the cluster for one scoring job; gives the arguments of each sbatch, and what Snakemake said."""
    folder, tools, log = tmp_path / "run", tmp_path / "bin", tmp_path / "sbatch.log"
    subprocess.run(["cp", "-a", os.fspath(finished), os.fspath(folder)], check=True)
    (folder / SCORES).unlink()
    tools.mkdir()

    def tool(name, script):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)

    tool("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    tool("sacctmgr", "exit 0")
    tool("sinfo", "exit 0")
    tool("sshare", "exit 1")
    tool("scancel", "exit 0")

    def submit(sbatch, squeue="exit 0"):
        tool(
            "sbatch", f'for word in "$@"; do printf "%s\\n" "$word"; done >>"{log}"; echo ======== >>"{log}"\n{sbatch}'
        )
        tool("squeue", squeue)
        # The rule's folder as a profile of its own: one retry, and no ten seconds before the first look.
        quick = ["--retries", "1", "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "1"]
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--profile", "slurm", "--configfile", SMALL, *quick, "--", SCORES],
            cwd=folder,
            env=environment(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        calls = [call.split("\n") for call in log.read_text().split("========\n") if call]
        return calls, done

    return submit


def said_once(call, start):
    """The value of an option that must stand there once, whichever way its words were cut."""
    words = " ".join(call).replace("'", "").split()
    found = [word for word in words if word.startswith(start)]
    assert len(found) == 1, (start, words)
    return found[0].removeprefix(start)


def test_s08_s09_one_unquoted_gpu_no_account_and_a_full_queue_in_slurms_own_words(submitted):
    calls, done = submitted("echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1")
    assert calls, done.stdout
    assert said_once(calls[0], "--gpus=") == "1"
    assert "gpu" in calls[0] or any("-p" in word and "gpu" in word for word in calls[0])
    assert not any(word.startswith(("--account", "-A")) for word in calls[0])
    assert done.returncode != 0 and "Traceback" not in done.stdout
    assert "AssocMaxSubmitJobLimit" in done.stdout


def test_s09_the_profile_caps_the_queue_and_retries_ask_for_more(finished):
    profile = yaml.safe_load((finished / "slurm/config.yaml").read_text())
    assert profile["jobs"] <= 1000 and profile["retries"] >= 1
    for rule, asked in profile["set-resources"].items():
        assert "attempt" in asked["mem_mb"] and "attempt" in asked["runtime"], rule


def test_s06_the_number_of_jobs_does_not_grow_with_images(finished, tmp_path):
    """3 data sets x 10 models x 96 variants."""
    config = yaml.safe_load((finished / SMALL).read_text())
    config["corruptions"] = {"severities": [1, 2, 3, 4, 5], "reference_side": 140}
    config["models"] |= {f"model-{n}": {"source": "resources/models/qwen-demo"} for n in range(8)}
    config["datasets"] = {}
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "questions.json").write_text("{}")
        (folder / "graphs.json").write_text("{}")
        (folder / "images").mkdir()
        files = {"questions": "questions.json", "scene_graphs": "graphs.json", "images": "images"}
        config["datasets"][name] = {"importer": "gqa", **{key: str(folder / file) for key, file in files.items()}}
    config["pool"] = {"quotas": dict.fromkeys(config["datasets"])}
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(config))
    checkout = tmp_path / "checkout"
    shutil.copytree(finished, checkout, ignore=shutil.ignore_patterns("results", ".snakemake"))
    few = planned(checkout, "all", config=str(tmp_path / "many.yaml"))
    for number in range(2000):
        (tmp_path / "one" / "images" / f"{number}.jpg").touch()
    assert planned(checkout, "all", config=str(tmp_path / "many.yaml")) == few
    assert few["score"] == 60 and sum(few.values()) < 120
