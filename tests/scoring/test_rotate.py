"""Rotations of options: what may move, how, and that a rotated item is scored like any other."""

import numpy as np
import pyarrow as pa
import pytest
from vlmdx.datasets.records import RowError
from vlmdx.schema import ContractError
from vlmdx.schema.io import check
from vlmdx.schema.tables import ITEMS, REJECTED
from vlmdx.scoring.readout import choose
from vlmdx.scoring.rotate import base_id, movable, order, rotate_items, rotation_of

from tests.scoring.stub import item
from tests.scoring.test_readout import column, letters, score


def table(*items):
    return pa.Table.from_pylist(list(items), ITEMS.schema)


def test_every_text_visits_every_place_once():
    for options in (["x", "y"], ["B", "A", "D", "C"], [f"o{n}" for n in range(26)]):
        orders = np.array([order(options, step) for step in range(len(options))])
        assert orders[0].tolist() == list(range(len(options)))
        for axis in (0, 1):
            assert (np.sort(orders, axis=axis).T if axis == 0 else np.sort(orders, axis=axis)).tolist() == [
                list(range(len(options)))
            ] * len(options)


@pytest.mark.parametrize(
    ("options", "free"),
    [
        (["x", "y", "All of the above"], [0, 1]),
        (["x", "y", "z", "None of the above."], [0, 1, 2]),
        (["x", "y", "both above", "none of these options"], [0, 1]),
        (["甲", "乙", "以上都不是"], [0, 1]),
        (["x", "y", "Either of the above"], [0, 1]),
        # These only look as if they spoke about others.
        (["none", "two", "all"], [0, 1, 2]),
        (["above the table", "below the chair"], [0, 1]),
        (["One is red", "two are blue"], [0, 1]),
        (["Vitamin C", "A cat"], [0, 1]),
        (["B", "A", "D", "C"], [0, 1, 2, 3]),
        (["the cat and the dog", "neither"], [0, 1]),
    ],
)
def test_m05_options_about_the_others_stay_in_place(options, free):
    assert movable(options) == free
    for step in range(len(free)):
        assert [place for place in order(options, step) if place not in free] == [
            place for place in range(len(options)) if place not in free
        ]
        assert order(options, step)[len(free) :] == list(range(len(free), len(options)))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["x", "None of the above", "y"], "'None of the above' speaks about the others and does not stand last"),
        (["x", "y", "A and B"], "'A and B' names other options by letter"),
        (["x", "y", "Both A and B are correct"], "by letter"),
        (["x", "y", "Neither (A) nor (B)"], "by letter"),
        (["x", "y", "only B"], "by letter"),
        (["x", "y", "A, B, and C"], "by letter"),
        (["x", "y", "Option A"], "by letter"),
        (["x", "All of the above"], "1 options can change places"),
    ],
)
def test_m05_an_item_whose_options_cannot_move_is_left_out_with_a_reason(options, reason):
    good = item("good", ["x", "y"])
    rotated, rejected = rotate_items(table(item("bad", options), good), "pool/items.parquet")
    assert rotated["item_id"].to_pylist() == ["good#r1"]
    (row,) = rejected.to_pylist()
    assert (row["source"], row["item_id"]) == ("pool/items.parquet", "bad") and reason in row["reason"]
    with pytest.raises(RowError, match="option"):
        movable(options)


def test_m05_a_rotated_item_keeps_gold_by_text_and_everything_else():
    base = item("d:7 é/x.y#r1", ["B", "A", "D", "C"], answer=1) | {"category": "k"}
    rotated, rejected = rotate_items(table(base), "x")
    check(rotated, ITEMS, "x")
    check(rejected, REJECTED, "x")
    assert rejected.num_rows == 0
    rows = rotated.to_pylist()
    assert [row["options"] for row in rows] == [["A", "D", "C", "B"], ["D", "C", "B", "A"], ["C", "B", "A", "D"]]
    assert [row["options"][row["answer"]] for row in rows] == ["A"] * 3
    assert [rotation_of(row["item_id"]) for row in rows] == [("d:7 é/x.y#r1", step) for step in (1, 2, 3)]
    assert all(row["category"] == "k" and row["image_id"] == base["image_id"] for row in rows)


def test_nothing_to_rotate_is_an_error():
    with pytest.raises(ContractError, match="none of the 1 items can be rotated"):
        rotate_items(table(item("i", ["x", "Both of the above"])), "x")
    with pytest.raises(ValueError, match="is no rotation"):
        rotation_of("d:7#r")


def test_m07_a_tie_goes_to_the_same_text_in_every_rotation():
    assert base_id("d:7#r1#r12") == "d:7" and base_id("d:7#x") == "d:7#x"
    options, won = ["cat", "dog", "fox", "owl"], set()
    for number in range(40):
        texts = set()
        for step in range(4):
            turned = tuple(options[place] for place in order(options, step))
            tied = np.array([0.4 if text in ("cat", "owl") else 0.1 for text in turned], np.float32)
            place, is_tied = choose(f"d:{number}#r{step}" if step else f"d:{number}", turned, tied)
            texts.add(turned[place])
            assert is_tied
        assert len(texts) == 1
        won |= texts
    assert won == {"cat", "owl"}


def test_rotated_items_go_through_the_ordinary_scoring():
    base = item("i", ["cat", "dog", "fox"], answer=1)
    rotated, _ = rotate_items(table(base), "x")
    value = {"cat": 0.1, "dog": 2.0, "fox": 1.0}

    def by_text(prompt, image, given):
        return letters(**{line[0]: value[line[3:]] for line in prompt.split("\n")[1:]})

    found = score(by_text, [base, *rotated.to_pylist()])
    chosen = {name: column(rows, "chosen").index(True) for name, rows in found.items()}
    assert chosen == {"i": 1, "i#r1": 0, "i#r2": 2}
    assert all(column(rows, "is_gold") == column(rows, "chosen") for rows in found.values())
