"""The operation rule and the argument grammar, on arguments as GQA publishes them."""

import pytest
from vlmdx.datasets.gqa_program import alternatives, checked, operation, split_argument
from vlmdx.datasets.records import RowError


def program(*steps: str) -> list[dict]:
    """``"select: bed (1)"`` per step; each depends on the one before, ``and``/``or``/``same`` on the two before."""
    built = []
    for place, text in enumerate(steps):
        name, argument = text.split(":", 1)
        two = name.split()[0] in ("and", "or", "same")
        before = [] if name == "select" else [place - 2, place - 1] if two else [place - 1]
        built.append({"operation": name, "dependencies": before, "argument": argument.strip()})
    return checked(built)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("select: bed (1026412)", "relate: book,to the left of,s (1026411)", "query: name"), "relate"),
        (("select: bed (1)", "filter color: red", "relate: _,on,o (2884719)", "exist: ?"), "relate"),
        (("select: bed (1)", "filter size: not(large)", "verify color: red"), "filter"),
        (("select: bed (1)", "verify rel: book,on,s (2)"), "verify"),
        (("select: bed (1)", "query: color"), "query"),
        (("select: wheelchair (-)", "exist: ?"), "exist"),
        (("select: bed (1)", "choose rel: napkin,to the left of|to the right of,s (1861257)"), "choose"),
        (("select: bed (1)", "select: sofa (2)", "same color: color"), "select"),
        (("select: cat (1)", "exist: ?", "select: dog (-)", "exist: ?", "or:"), "exist"),
        (("select: scene", "query: weather"), "query"),
    ],
)
def test_operation_rule(steps, expected):
    found = program(*steps)
    if steps[-1] == "or:":
        found[-1]["dependencies"] = [1, 3]
    assert operation(found) == expected


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("bed (1026412)", ("bed", ("1026412",))),
        ("animal (757652,757650)", ("animal", ("757652", "757650"))),
        ("wheelchair (-)", ("wheelchair", ())),
        ("scene", ("scene", ())),
        ("book,to the left of,s (1026411)", ("book,to the left of,s", ("1026411",))),
        ("_,on,o (2884719)", ("_,on,o", ("2884719",))),
        ("not(large)", ("not(large)", ())),
        ("?", ("?", ())),
    ],
)
def test_arguments(argument, expected):
    assert split_argument(argument) == expected


def test_alternatives_of_a_choice():
    relation = program("select: bed (1)", "choose rel: napkin,to the left of|to the right of,s (1861257)")
    assert alternatives(relation, "left") == ["left", "right"]
    assert alternatives(relation, "to the right of") == ["to the left of", "to the right of"]
    assert alternatives(program("select: bed (1)", "choose rel: man,in front of|behind,s (2)"), "in front of") == [
        "in front of", "behind"
    ]  # fmt: skip
    assert alternatives(program("select: bed (1)", "choose color: red|blue"), "blue") == ["red", "blue"]
    with pytest.raises(RowError, match="'green'"):
        alternatives(program("select: bed (1)", "choose color: red|blue"), "green")


def test_alternatives_named_by_the_compared_things():
    steps = program("select: salad (1)", "select: fries (2)", "filter color: red")
    steps.append({"operation": "choose healthier", "dependencies": [0, 2], "argument": ""})
    assert alternatives(steps, "fries") == ["salad", "fries"]


@pytest.mark.parametrize(
    "broken",
    [[], None, [1], [{"operation": "select"}], [{"operation": "", "dependencies": [], "argument": "x"}],
     [{"operation": "exist", "dependencies": [0], "argument": "?"}],
     [{"operation": "exist", "dependencies": ["0"], "argument": "?"}],
     [{"operation": "exist", "dependencies": [], "argument": None}]],
)  # fmt: skip
def test_broken_programs_are_refused(broken):
    with pytest.raises(RowError, match="semantic"):
        checked(broken)
