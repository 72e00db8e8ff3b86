"""Object ids of the grounding set, for every operation and all argument forms."""

import json
from collections import Counter

import pytest
from vlmdx.mechanism.draw import draw
from vlmdx.mechanism.grounding import SetAside, branches, item_branches, tokens_of
from vlmdx.models.geometry import View


def program(*steps):
    return [
        {"operation": operation, "argument": argument, "dependencies": list(dependencies)}
        for operation, argument, *dependencies in steps
    ]


@pytest.mark.parametrize(
    ("operation", "steps", "expected"),
    [
        # the object of the LAST relate step, not the one it starts from
        (
            "relate",
            [("select", "table (1)"), ("relate", "book,on,s (2)", 0), ("relate", "_,on,o (3)", 1)],
            [("3",)],
        ),
        ("verify", [("select", "bed (1026412)"), ("verify color", "red", 0)], [("1026412",)]),
        ("verify", [("select", "bed (4)"), ("verify rel", "book,to the left of,s (5)", 0)], [("4", "5")]),
        ("verify", [("select", "bed (4)"), ("verify rel", "book,to the left of,s (-)", 0)], [("4",)]),
        ("choose", [("select", "cup (6)"), ("choose rel", "napkin,on|to the right of,s (7)", 0)], [("6", "7")]),
        ("choose", [("select", "cup (6)"), ("select", "man (8)"), ("choose older", "", 0, 1)], [("6", "8")]),
        ("exist", [("select", "cup (6)"), ("exist", "?", 0)], [("6",)]),
        (
            "exist",
            [("select", "cup (6)"), ("exist", "?", 0), ("select", "man (8)"), ("exist", "?", 2), ("or", "", 1, 3)],
            [("6",), ("8",)],
        ),
        (
            "exist",
            [("select", "cup (-)"), ("exist", "?", 0), ("select", "man (8)"), ("exist", "?", 2), ("or", "", 1, 3)],
            [("8",)],
        ),
        ("query", [("select", "cup (6)"), ("query", "color", 0)], [("6",)]),
        ("filter", [("select", "animal (757652,757650)"), ("filter size", "not(large)", 0), ("query", "name", 1)],
         [("757652", "757650")]),
        (
            "filter",
            [
                ("select", "cup (6)"), ("filter color", "red", 0), ("exist", "?", 1),
                ("select", "man (8)"), ("filter age", "old", 3), ("exist", "?", 4), ("and", "", 2, 5),
            ],
            [("6", "8")],
        ),
        ("select", [("select", "animal (757652,757650)"), ("same color", "", 0)], [("757652", "757650")]),
        ("select", [("select", "cup (6)"), ("select", "man (8)"), ("different shape", "", 0, 1)], [("6", "8")]),
    ],
)  # fmt: skip
def test_objects_of_each_operation(operation, steps, expected):
    assert branches(program(*steps), operation) == expected


@pytest.mark.parametrize(
    ("operation", "steps"),
    [
        ("query", [("select", "scene"), ("query", "place", 0)]),
        ("exist", [("select", "wheelchair (-)"), ("exist", "?", 0)]),
        ("relate", [("select", "table (1)"), ("relate", "book,on,s (-)", 0), ("exist", "?", 1)]),
    ],
)
def test_a_program_without_object_is_set_aside(operation, steps):
    with pytest.raises(SetAside, match="names no object"):
        branches(program(*steps), operation)


def item(number, operation="query", ids="6", answer=0, options=("red", "blue")):
    steps = program(("select", f"cup ({ids})"), ("query", "color", 0))
    return {
        "item_id": f"gqa:{number}",
        "options": options,
        "answer": answer,
        "operation": operation,
        "program": json.dumps(steps),
        "objects": [{"object_id": "6", "name": "cup", "x": 0.0, "y": 0.0, "w": 70.0, "h": 35.0}],
    }


def test_an_object_without_box_is_set_aside():
    with pytest.raises(SetAside, match=r"object 9 .* has no box"):
        item_branches(item(1, ids="9"))
    with pytest.raises(SetAside, match="no functional program"):
        item_branches({**item(1), "program": None})


def test_rules_of_cells_and_union_of_boxes_and_views():
    # 140 x 140 onto a 5 x 5 grid: cells of 28 pixels; the box covers columns 0 to 2, rows 0 and a quarter of row 1
    views = [View(0, (5, 5), (0, 0, 140, 140))]
    found = {rule: tokens_of(item(1), ["6"], (140, 140), views, rule) for rule in ("any", "half", "centre")}
    assert found == {"any": [0, 1, 2, 5, 6, 7], "half": [0, 1, 2], "centre": [0, 1]}
    two = item(1)
    two["objects"] += [{"object_id": "7", "name": "cup", "x": 112.0, "y": 112.0, "w": 500.0, "h": 500.0}]
    assert tokens_of(two, ["6", "7"], (140, 140), views, "centre") == [0, 1, 24]
    # a second view, of the lower right quarter, with a newline after each row: 5 x 5 tokens before it
    views.append(View(25, (2, 2), (70, 70, 70, 70), marks=1))
    assert tokens_of(two, ["6", "7"], (140, 140), views, "centre") == [0, 1, 24, 29]


def test_draw_is_a_prefix_and_accounts_for_all():
    items = [item(i) for i in range(40)] + [item(99, ids="-"), item(98, answer=None), item(97, operation="verify")]
    few, aside = draw(items, "query", 5, seed=3)
    more, _ = draw(items[::-1], "query", 9, seed=3)
    assert {i["item_id"] for i in few} < {i["item_id"] for i in more}
    assert sorted(name for name, _ in aside) == ["gqa:98", "gqa:99"]
    assert few != draw(items, "query", 5, seed=4)[0]
    assert len(draw(items, "query", None, seed=3)[0]) == 40
    with pytest.raises(ValueError, match="no question of this operation"):
        draw(items, "choose", 5, seed=3)


def test_draw_balanced_between_right_and_wrong():
    items = [item(i) for i in range(40)]
    correct = {f"gqa:{i}": i < 30 for i in range(38)}  # 30 right, 8 wrong, two not asked
    drawn = {n: {i["item_id"] for i in draw(items, "query", n, 0, correct)[0]} for n in (1, 12, 20, 39, None)}
    wrong = {n: sum(not correct[i] for i in found) for n, found in drawn.items()}
    assert wrong == {1: 0, 12: 6, 20: 8, 39: 8, None: 8}
    assert [len(found) for found in drawn.values()] == [1, 12, 20, 38, 38]
    assert drawn[1] < drawn[12] < drawn[20] < drawn[39] == drawn[None]
    only = {f"gqa:{i}": True for i in range(20)}
    assert len(draw(items, "query", 12, 0, only)[0]) == 12, "what one side lacks the other fills"


def test_a_balanced_draw_takes_yes_and_no_in_turn():
    items = [item(i, answer=int(i < 30), options=("yes", "no")) for i in range(40)]  # 30 no, 10 yes
    correct = {f"gqa:{i}": i % 2 == 0 for i in range(40)}
    chosen, _ = draw(items, "query", 16, 0, correct)
    assert Counter((i["answer"], correct[i["item_id"]]) for i in chosen) == {(a, c): 4 for a in (0, 1) for c in (0, 1)}
    chosen, _ = draw(items, "query", 40, 0, correct)
    assert len(chosen) == 40
