"""Gini impurity of answer trajectories."""

import random
import shutil

import pyarrow.parquet as pq
import pytest
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import GINI, SCORES
from vlmdx.selection.gini import gini_table


def values(table):
    return dict(zip(table["item_id"].to_pylist(), table["gini"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("options", "expected"), [(1, 0.0), (2, 0.5), (5, 0.8), (30, 0.9667)], ids=["1", "2", "5", "30"]
)
def test_uniform_answers_over_k_options(shards, options, expected):
    trajectory = [i % options for i in range(30)]
    paths = shards("a", {"x": {"fog": trajectory}}, options=max(options, 2))
    assert values(gini_table({"a": paths}, ["x"], range(1, 30)))["x"] == pytest.approx(expected, abs=5e-5)


def test_mean_over_corruptions_and_voters_by_hand(shards):
    # fog: 4 x 0, 2 x 1 -> 1 - 20/36; snow: 6 x 0 -> 0; b: fog 3/3 -> 0.5; snow 0 1 2 3 0 1 -> 1 - 10/36
    a = shards("a", {"x": {"fog": [0, 1, 0, 0, 1, 0], "snow": [0] * 6}})
    b = shards("b", {"x": {"fog": [0, 1, 0, 1, 0, 1], "snow": [0, 1, 2, 3, 0, 1]}})
    table = gini_table({"a": a, "b": b}, ["x"], [1, 2, 3, 4, 5])
    assert table.schema.equals(GINI.schema)
    assert values(table)["x"] == pytest.approx((16 / 36 + 0 + 0.5 + 26 / 36) / 4, rel=1e-6)
    assert table["voters"].to_pylist() == [2]


def test_unscored_answers_leave_out_their_trajectory_and_null_is_not_zero(shards):
    answers = {
        "whole": {"fog": [0, 0, 1], "snow": [0, 1, 1]},
        "snow lost": {"fog": [0, 1, 2], "snow": [0, None, 1]},
        "clean lost": {"fog": [None, 0, 1], "snow": [None, 1, 1]},
        "steady": {"fog": [1, 1, 1], "snow": [1, 1, 1]},
    }
    table = gini_table({"a": shards("a", answers)}, list(answers), [1, 2])
    found = values(table)
    assert found.pop("clean lost") is None
    assert found == pytest.approx({"whole": 4 / 9, "snow lost": 6 / 9, "steady": 0}, rel=1e-6)
    assert table["voters"].to_pylist() == [1, 1, 0, 1]


def test_p05_every_item_of_the_pool_stays_visible(shards):
    paths = shards("a", {"x": {"fog": [None, None]}, "y": {"fog": [0, 1]}})
    table = gini_table({"a": paths}, ["y", "x"], [1])
    assert table["item_id"].to_pylist() == ["y", "x"] and table["gini"].null_count == 1
    with pytest.raises(ContractError, match=r"1 item\(s\) are in the pool and not scored, e\.g\. z"):
        gini_table({"a": paths}, ["x", "y", "z"], [1])
    with pytest.raises(ContractError, match=r"1 item\(s\) are scored and not in the pool, e\.g\. y"):
        gini_table({"a": paths}, ["x"], [1])


def test_p06_a_copied_shard_is_refused(shards):
    clean, fog = shards("a", {"x": {"fog": [0, 1]}})
    copy = fog.with_name("fog (copy).parquet")
    shutil.copy(fog, copy)
    with pytest.raises(ContractError, match="voter a: item x under fog 1, option 0 is scored twice"):
        gini_table({"a": [clean, fog, copy]}, ["x"], [1])


def test_order_of_rows_files_voters_and_pool_does_not_matter(shards):
    rng = random.Random(0)
    answers = {
        voter: {
            f"i{n}": {c: [n % 4] + [rng.randrange(4) for _ in range(5)] for c in ("fog", "snow")} for n in range(20)
        }
        for voter in "ab"
    }
    voters = {voter: shards(voter, answers[voter]) for voter in "ab"}
    pool = [f"i{n}" for n in range(20)]
    expected = values(gini_table(voters, pool, range(1, 6)))
    for paths in voters.values():
        for path in paths:
            rows = pq.read_table(path).to_pylist()
            rng.shuffle(rows)
            write_table(path, rows, SCORES)
    turned = {voter: voters[voter][::-1] for voter in "ba"}
    assert values(gini_table(turned, pool[::-1], range(1, 6))) == expected
    assert len(set(expected.values())) > 5


def test_options_count_by_index_not_by_letter(shards):
    paths = shards("a", {"x": {"fog": [0, 1, 2]}})
    for path in paths:
        rows = [row | {"letter": "A"} for row in pq.read_table(path).to_pylist()]
        write_table(path, rows, SCORES)
    assert values(gini_table({"a": paths}, ["x"], [1, 2]))["x"] == pytest.approx(2 / 3)


def test_missing_cells_and_voters_of_other_cells_are_refused(shards):
    a = shards("a", {"x": {"fog": [0, 1, 1], "snow": [0, 1, 1]}})
    b = shards("b", {"x": {"fog": [0, 1, 1]}})
    with pytest.raises(ContractError, match=r"missing \[\('fog', 3\), \('snow', 3\)\]"):
        gini_table({"a": a}, ["x"], [1, 2, 3])
    with pytest.raises(ContractError, match=r"not wanted \[\('fog', 2\), \('snow', 2\)\]"):
        gini_table({"a": a}, ["x"], [1])
    with pytest.raises(ContractError, match=r"missing \[\('clean', 0\)\]"):
        gini_table({"a": a[1:]}, ["x"], [1, 2])
    with pytest.raises(ContractError, match="missing every corruption"):
        gini_table({"a": a[:1]}, ["x"], [1, 2])
    with pytest.raises(ContractError, match="voters a and b were scored under different cells"):
        gini_table({"a": a, "b": b}, ["x"], [1, 2])
    with pytest.raises(ContractError, match="no voter"):
        gini_table({}, ["x"], [1])


def test_two_chosen_options_are_refused(shards):
    clean, fog = shards("a", {"x": {"fog": [0, 1]}})
    rows = [row | {"chosen": True} for row in pq.read_table(fog).to_pylist()]
    write_table(fog, rows, SCORES)
    with pytest.raises(ContractError, match="item x under fog 1 has 4 chosen options"):
        gini_table({"a": [clean, fog]}, ["x"], [1])
