"""log.csv, sealed checkpoints, and the figure of a run."""

import json

import pytest
from vlmdx.discovery.checkpoints import newest, seal, whole
from vlmdx.discovery.log import COLUMNS, Log, facts, read_log, spreads


def row(reward, valid=True, correct=False, finished=True, tokens=4):
    return {
        "reward": reward,
        "valid": valid,
        "correct": correct,
        "semantic": 0.5,
        "lexical": 1.0,
        "delta": 0.75,
        "penalty": 0.0 if valid else 0.5,
        "finished": finished,
        "question_tokens": tokens,
    }


def test_lines_are_appended_and_cut_back_to_the_step_that_is_gone_on_from(tmp_path):
    path = tmp_path / "log.csv"
    log = Log(path)
    for step in (1, 2, 3):
        log.write({"step": step, "reward": step / 3})
    Log(path, keep=2).write({"step": 3, "reward": 9.0})
    assert [line["step"] for line in read_log(path)] == ["1", "2", "3"]
    assert [line["reward"] for line in read_log(path)] == ["0.333333", "0.666667", "9"]
    assert path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path):
    path = tmp_path / "log.csv"
    Log(path).write({"step": 1, "reward": 0.5})
    with path.open("a") as file:
        file.write("2,32,0.")
    assert [line["step"] for line in read_log(path)] == ["1"]
    Log(path, keep=5)
    assert [line["step"] for line in read_log(path)] == ["1"]


def test_missing_is_empty_and_an_unknown_column_is_refused(tmp_path):
    log = Log(tmp_path / "log.csv")
    log.write({"step": 1, "kl": None, "loss": float("nan")})
    (line,) = read_log(log.path)
    assert line["kl"] == line["loss"] == ""
    with pytest.raises(ValueError, match=r"unknown columns \['losss'\]"):
        log.write({"losss": 1.0})


def test_spread_is_that_of_decided_rewards_within_a_group():
    rows = [row(1.0), row(0.0, correct=True), row(0.5), row(0.5)]
    rows += [row(0.0, valid=None), row(0.8), row(0.0, correct=None), row(float("nan"))]
    assert spreads(rows, 2).tolist() == [0.5, 0, 0, 0]
    made = facts(rows, 2)
    assert made["zero_spread"] == 0.75
    assert made["group_spread"] == 0.125
    assert made["undecided"] == 0.25
    assert made["reward"] == pytest.approx((1.0 + 0 + 0.5 + 0.5 + 0.8) / 5)
    assert made["valid"] == 7 / 8
    assert made["failed"] == 5 / 8


def test_a_step_without_any_verdict_has_no_reward():
    made = facts([row(0.0, valid=None)] * 4, 2)
    assert made["reward"] is None
    assert made["zero_spread"] == 1
    assert made["undecided"] == 1


def checkpoint(folder, step):
    made = folder / f"checkpoint-{step}"
    (made / "deep").mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"12345678")
    (made / "deep" / "state.json").write_text("{}")
    seal(made)
    return made


def test_the_newest_whole_checkpoint_counts_and_broken_ones_go(tmp_path):
    assert newest(tmp_path) == (None, 0)
    for step in (2, 10, 9):
        checkpoint(tmp_path, step)
    assert newest(tmp_path) == (tmp_path / "checkpoint-10", 10)
    (tmp_path / "checkpoint-10" / "model.safetensors").write_bytes(b"1234")
    assert newest(tmp_path) == (tmp_path / "checkpoint-9", 9)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-2", "checkpoint-9"]


@pytest.mark.parametrize("damage", ["complete.json", "deep/state.json", "model.safetensors"])
def test_g06_a_checkpoint_that_misses_a_file_is_not_whole(tmp_path, damage):
    made = checkpoint(tmp_path, 1)
    assert whole(made)
    (made / damage).unlink()
    assert not whole(made)


def test_a_manifest_cut_short_is_no_manifest(tmp_path):
    made = checkpoint(tmp_path, 1)
    text = (made / "complete.json").read_text()
    assert set(json.loads(text)) == {"model.safetensors", "deep/state.json"}
    (made / "complete.json").write_text(text[: len(text) // 2])
    assert not whole(made)
