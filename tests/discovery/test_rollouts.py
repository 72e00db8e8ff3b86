import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vlmdx.discovery.memory import Memory
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.rollouts import Recorder, grade, read_parts, recompute
from vlmdx.schema.io import ContractError, check, read_provenance
from vlmdx.schema.tables import ROLLOUTS

from tests.discovery.fakes import FakeAnswerer, FakeVerifier, asked, embed

FIXED = {"run": "r", "method": "rl", "seed": 0, "phase": "train"}
POOL = [
    "Is it red?",
    "What shape is left?",
    "How many are there?",
    "Is there a cross?",
    "What color is it?",
    "Why is it?",
    "",
]


def steps(count, seed=0, images=3, turns=2, samples=3):
    """Questions of ``count`` steps, drawn from a small pool, so that many repeat."""
    rng = random.Random(seed)
    return [
        [
            asked(rng.choice(POOL), f"image-{image}", step, turn, sample)
            for turn in range(turns)
            for image in range(images)
            for sample in range(samples)
        ]
        for step in range(count)
    ]


def verifier():
    return FakeVerifier(
        valid=lambda text: {"Why is it?": None, "Is it red?": False}.get(text, True),
        correct=lambda text: {"Is there a cross?": True, "What color is it?": None}.get(text, False),
    )


def run(folder, count=4, memory=None, first=0, **reward):
    """Grade and record steps ``first`` to ``count``."""
    memory = memory or Memory(RewardSettings(**reward), embed)
    recorder = Recorder(folder, FIXED)
    for step, questions in enumerate(steps(count)):
        if step >= first:
            recorder.write(step, grade(questions, FakeAnswerer(), verifier(), memory))
    return read_parts(folder)


def test_rewards_recomputed_from_disk_equal_those_of_the_run_bit_for_bit(tmp_path):
    table = run(tmp_path)
    assert pc.count_distinct(table["reward"]).as_py() > 5  # it has something to get wrong
    assert recompute(table, RewardSettings(), embed).equals(table)


@pytest.mark.parametrize(
    "other",
    [
        RewardSettings(penalty=0.0),
        RewardSettings(diversity=False),
        RewardSettings(buffer=0),
        RewardSettings(semantic_weight=1.0),
    ],
)
def test_rewards_under_another_setting_equal_a_run_under_it(tmp_path, other):
    table = run(tmp_path / "first")
    memory = Memory(other, embed)
    direct = run(tmp_path / "other", memory=memory)
    again = recompute(table, other, embed)
    assert again.equals(direct)
    assert not again["reward"].equals(table["reward"])


def test_each_job_has_a_memory_of_its_own(tmp_path):
    table = run(tmp_path)
    columns = table.schema.names.index("method"), table.schema.field("method")
    other = table.set_column(*columns, pa.array(["sft"] * table.num_rows))
    both = recompute(pa.concat_tables([other, table]), RewardSettings(), embed)
    assert both.slice(table.num_rows).equals(table)
    assert both.slice(0, table.num_rows).equals(other)


@given(st.randoms())
@settings(max_examples=20, deadline=None)
def test_a_reward_does_not_depend_on_the_order_of_a_batch(shuffle):
    (questions,) = steps(1)
    mixed = questions.copy()
    shuffle.shuffle(mixed)

    def rewards(order):
        rows = grade(order, FakeAnswerer(), verifier(), Memory(RewardSettings(), embed))
        return {(r["image_id"], r["turn"], r["sample"]): r["reward"] for r in rows}

    assert rewards(questions) == rewards(mixed)


def test_turns_graded_one_by_one_equal_all_at_once():
    (questions,) = steps(1)
    whole = grade(questions, FakeAnswerer(), verifier(), Memory(RewardSettings(), embed))
    memory, parts = Memory(RewardSettings(), embed), []
    for turn in (0, 1):
        parts += grade([q for q in questions if q.turn == turn], FakeAnswerer(), verifier(), memory)
    assert parts == whole


def test_samples_of_one_step_are_not_compared_with_each_other():
    twice = [asked("How many are there?", sample=sample) for sample in (0, 1)]
    rows = grade(twice, FakeAnswerer(), verifier(), Memory(RewardSettings(), embed))
    assert [row["delta"] for row in rows] == [1.0, 1.0]
    with pytest.raises(ValueError, match="graded together"):
        memory = Memory(RewardSettings(), embed)
        for one in twice:
            grade([one], FakeAnswerer(), verifier(), memory)


def test_every_row_holds_the_contract_and_nothing_is_lost(tmp_path):
    table = run(tmp_path)
    assert table.num_rows == sum(map(len, steps(4)))
    check(table, ROLLOUTS, "test")
    valid, correct = table["valid"].to_pylist(), table["correct"].to_pylist()
    assert {True, False, None} == set(valid) == set(correct)
    for row in table.to_pylist():
        assert (row["answer"] is None) is (row["valid"] is not True)
        assert row["reward"] == (row["delta"] if row["valid"] and row["correct"] is False else 0.0) - row["penalty"]


def test_g06_a_resumed_run_gives_the_rewards_of_an_unbroken_one(tmp_path):
    whole = run(tmp_path / "whole")
    broken = tmp_path / "broken"
    run(broken, count=3)  # killed in step 3; the last checkpoint is that of step 1
    table = read_parts(broken, last=1)
    assert table["step"].to_pylist() == [0] * 18 + [1] * 18
    memory = Memory.replay(table.to_pylist(), RewardSettings(), embed)
    resumed = run(broken, memory=memory, first=2)
    assert resumed.equals(whole)


def test_parts_are_read_in_the_order_of_steps_and_leftovers_of_a_kill_are_not(tmp_path):
    recorder = Recorder(tmp_path, FIXED, provenance={"digest": "abc"})
    memory = Memory(RewardSettings(), embed)
    for step in (99999, 100000):
        recorder.write(step, grade([asked("Is it red?", step=step)], FakeAnswerer(), verifier(), memory))
    (tmp_path / ".step-00007.parquet.0123.tmp.parquet").write_bytes(b"half")
    assert read_parts(tmp_path)["step"].to_pylist() == [99999, 100000]
    assert read_provenance(tmp_path / "step-99999.parquet") == {"digest": "abc"}


def test_a_damaged_part_and_a_stray_step_are_errors(tmp_path):
    recorder = Recorder(tmp_path, FIXED)
    rows = grade([asked("Is it red?", step=3)], FakeAnswerer(), verifier(), Memory(RewardSettings(), embed))
    with pytest.raises(ContractError, match=r"rows of step \[3\]"):
        recorder.write(4, rows)
    path = recorder.write(3, rows)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ContractError, match="step-00003"):
        read_parts(tmp_path)


def test_no_parts_are_an_empty_table_and_fixed_columns_are_checked(tmp_path):
    assert read_parts(tmp_path).num_rows == 0
    with pytest.raises(ValueError, match="phase"):
        Recorder(tmp_path, {"run": "r", "method": "rl", "seed": 0})
