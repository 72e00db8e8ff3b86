"""A run that was killed goes on as if it had not been."""

import logging
import shutil
import signal
import subprocess
import sys

import pytest
import torch
from vlmdx.discovery.log import read_log
from vlmdx.models.load import load

from tests.discovery.training import same, small, train, weights

KILLED = """
import os, signal, sys
from vlmdx.discovery.callbacks import Watch
from tests.discovery.training import small, torch, train

torch.set_num_threads(1)

def die(self, args, state, control, **kwargs):
    if state.global_step == 3:
        os.kill(os.getpid(), signal.SIGKILL)

Watch.on_step_end = die
train(sys.argv[1], small())
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run that was killed with SIGKILL at the end of step 3, after its rollouts and before a checkpoint."""
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, "-c", KILLED, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["checkpoint-2"]
    assert (folder / "rollouts" / "step-00003.parquet").exists()
    return folder


def test_g06_a_killed_run_goes_on_as_if_it_had_not_been(killed, unbroken, tmp_path):
    _, expected, rows = unbroken
    folder = shutil.copytree(killed, tmp_path / "run")
    model, again = train(folder, small())
    assert again == rows
    assert same(expected, weights(model))
    assert lines_but_seconds(folder) == lines_but_seconds(unbroken[0])


def test_g06_rollouts_after_the_checkpoint_are_made_again(killed, unbroken, tmp_path):
    folder = shutil.copytree(killed, tmp_path / "run")
    stale = folder / "rollouts" / "step-00003.parquet"
    shutil.copy(folder / "rollouts" / "step-00001.parquet", stale)  # its rows would break the memory
    assert train(folder, small())[1] == unbroken[2]


def test_g06_a_half_written_checkpoint_is_skipped(unbroken, tmp_path, caplog):
    folder = shutil.copytree(unbroken[0], tmp_path / "run")
    (folder / "checkpoints" / "checkpoint-4" / "trainer_state.json").unlink()
    with caplog.at_level(logging.WARNING):
        model, rows = train(folder, small())
    assert "checkpoint-4 is not whole" in caplog.text
    assert "going on after step 2" in caplog.text
    assert rows == unbroken[2]
    assert same(unbroken[1], weights(model))


def test_g06_a_finished_run_that_lost_its_export_trains_nothing_more(unbroken, tmp_path):
    folder = shutil.copytree(unbroken[0], tmp_path / "run")
    model, rows = train(folder, small())
    assert rows == unbroken[2]
    assert same(unbroken[1], weights(model))


def test_g06_steps_after_others_keep_their_numbers_when_gone_on_with(tmp_path):
    """RL after SFT: the first steps of the run were spent before."""
    _, rows = train(tmp_path, small(steps=3, save_every=1), first=2)
    assert sorted({row["step"] for row in rows}) == [3, 4, 5]
    shutil.rmtree(tmp_path / "checkpoints" / "checkpoint-3")
    _, again = train(tmp_path, small(steps=3, save_every=1), first=2)
    assert again == rows
    assert [line["step"] for line in read_log(tmp_path / "log.csv")] == ["3", "4", "5"]


@pytest.mark.parametrize("random_policy", ["smolvlm"], indirect=True)
def test_g06_lora_goes_on_as_if_unbroken_and_trains_its_own_weights_alone(random_policy, tmp_path):
    def opened():
        return load(str(random_policy), device="cpu")

    settings = small(lora_rank=2, max_tokens=3, temperature=1.0)
    model, rows = train(tmp_path, settings, adapter=opened())
    expected = weights(model)
    (tmp_path / "checkpoints" / "checkpoint-4" / "optimizer.pt").write_bytes(b"half")
    again, same_rows = train(tmp_path, settings, adapter=opened())
    assert same_rows == rows
    assert same(expected, weights(again))

    assert {name for name, weight in model.named_parameters() if weight.requires_grad} == {
        name for name in expected if "lora_" in name
    }
    merged, before = model.merge_and_unload().state_dict(), opened().model.state_dict()
    moved = {name for name in before if not torch.equal(before[name], merged[name])}
    assert moved
    assert not any("visual" in name or "vision" in name for name in moved)


def lines_but_seconds(folder):
    return [{name: line[name] for name in line if name != "seconds"} for line in read_log(folder / "log.csv")]
