"""Reasons of one kind are counted together, whatever the rows that they speak about hold."""

import pytest
from vlmdx.datasets.account import kind
from vlmdx.datasets.records import brief

ODD = [
    "a",
    "a b",
    "it's",
    'say "x"',
    """it's "x" """,
    "back\\slash'",
    "x" * 500,
    "é … è",
    "",
    "a: b; (c)",
    "1.jpg",
    "n/2.png",
]


@pytest.mark.parametrize(
    "reason",
    [
        lambda v: f"image {brief(v)} does not exist in images/; add it",
        lambda v: f"image {brief(v)} leaves the data set's folder; use a path inside images/",
        lambda v: f"no {brief(v)} is annotated in image {brief(v[::-1])}",
        lambda v: f"options {brief([v] * (1 + len(v)))} are no list",
        lambda v: f"step 3 of semantic is not {{operation, dependencies, argument}}: {brief({v: [v, {v: 1}]})}",
        lambda v: f"the box of object {brief(v)} ({brief(v)}), x {len(v)} y -1e+09 w 0.5 h 3, covers nothing",
        lambda v: f"gold answer {brief(v)} is none of the {2 + len(v)} options (read as index, letter, text)",
    ],
)
def test_a_value_does_not_split_a_reason(reason):
    kinds = {kind(reason(value)) for value in ODD}
    assert len(kinds) == 1 and "x" * 9 not in kinds.pop()


def test_real_reasons_of_two_sorts_stay_two():
    said = [
        "image 'a.jpg': the file is empty (0 bytes)",
        "image 'b c.jpg': the file does not exist",
        "image 'b c.jpg': 8000 x 20: one side is more than 200 times the other; crop the file",
        "image 'b.jpg': 32-bit integer pixels do not say which value is white; save the image with 8 or 16 bits",
        "image 'b.jpg': 32-bit float pixels do not say which value is white; save the image with 8 or 16 bits",
        "missing question, options",
        "missing answer",
        "gold answer 'x' is none of the 4 options (read as letter)",
        "gold answer 'x' is none of the 4 options (read as text)",
    ]
    assert len({kind(reason) for reason in said}) == len(said)
    assert kind(said[0]) == "image …: the file is empty … bytes" or kind(said[0]) == "image …: the file is empty …"


def test_a_kind_is_its_own_kind():
    for value in ODD:
        once = kind(f"image {brief(value)} and {brief([value, 3])} in n12.png: {len(value)} px")
        assert kind(once) == once
