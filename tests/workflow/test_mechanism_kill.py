"""Killed means resumed, to the item: an effects job goes on with the batches that it had not finished."""

import subprocess
import time

import psutil
import pytest
import yaml
from vlmdx.mechanism.tables import ASKED, PARTS
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS

from tests.workflow.project import command, copy_project, environment, run

FOLDER = "results/mechanism/qwen-demo/shapes-mechanism/choose"
ITEMS, CONFIG = 60, "kill.yaml"


@pytest.fixture
def folder(tmp_path):
    """A project whose effects job has many small batches; all before that job is done."""
    folder = copy_project(tmp_path / "run")
    config = yaml.safe_load((folder / "tests/workflow/mechanism.yaml").read_text())
    config["mechanism"] |= {"models": None, "operations": ["choose"], "n": ITEMS, "candidates": 70, "batch_tokens": 200}
    config["demo"]["mechanism_scenes"] = 80
    (folder / CONFIG).write_text(yaml.safe_dump(config))
    sample = "results/datasets/shapes-mechanism/operations/choose/items.parquet"
    done = run(folder, "--quiet", "rules", "--", sample, config=CONFIG)
    assert done.returncode == 0, done.stdout
    return folder


def finished_items(folder):
    """Items in the parts of the running job, by part."""
    parts = (folder / FOLDER).glob(".parts-*/[!.]*.parquet")
    return {path.name: set(read_table(path, PARTS)["item_id"].to_pylist()) for path in parts}


def artifacts(folder):
    """Content of the tables and bytes of the tensors; the provenance in a footer tells one run from another."""
    names = {"effects": EFFECTS, "control": EFFECTS, "asked": ASKED}
    tables = {name: read_table(folder / FOLDER / f"{name}.parquet", contract) for name, contract in names.items()}
    return {name: (table.to_pylist(), table.num_rows) for name, table in tables.items()}


def test_kill_in_mid_dissection_then_the_same_command(folder):
    target = f"{FOLDER}/effects.parquet"
    process = psutil.Popen(
        command("--quiet", "rules", "--", target, config=CONFIG),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while len(finished_items(folder)) < 3:
        assert process.poll() is None and time.monotonic() < deadline, "no effects job was ever seen at work"
        time.sleep(0.02)
    jobs = process.children(recursive=True)
    process.kill()
    for job in jobs:
        job.kill()
    psutil.wait_procs([process, *jobs], timeout=60)
    assert not (folder / target).exists()
    before = finished_items(folder)
    kept = set().union(*before.values())
    assert 0 < len(kept) < ITEMS and sum(map(len, before.values())) == len(kept)

    again = run(folder, "--quiet", "rules", "--", target, config=CONFIG)
    assert again.returncode == 0, again.stdout
    log = (folder / "logs/effects/qwen-demo/shapes-mechanism/choose.log").read_text()
    assert f"{len(kept)} of {ITEMS} items were finished before" in log
    resumed = artifacts(folder)
    assert not list((folder / FOLDER).glob(".parts-*")), "parts are removed when the tables stand"

    whole = run(folder, "--quiet", "rules", "--forcerun", "effects", "--", target, config=CONFIG)
    assert whole.returncode == 0, whole.stdout
    assert artifacts(folder) == resumed  # to the last bit
