"""Cyclic rotations of an item's options: does a model choose a text, or a place?

The idea is CircularEval of MMBench (arXiv 2307.06281). A rotation is an item of its own, whose id is that of its base
item with the suffix ``#r1``, ``#r2``, ..., so it goes through the ordinary scoring path; rotation 0 is the base item.

Not every option may move (ours): one that speaks about the options before it ("None of the above") stays where it is,
and an item is left out where that makes no sense, or where an option names others by letter ("A and B").
"""

import re
from typing import Any

import pyarrow as pa

from vlmdx.datasets.records import RowError, brief
from vlmdx.schema import ContractError
from vlmdx.schema.tables import ITEMS, REJECTED

_SUFFIX = re.compile(r"#r([0-9]+)$")
# Whole texts that speak about the other options: "All of the above", "none of these options", "both above are true".
_ABOUT_OTHERS = re.compile(
    r"(?:all|none|any|both|either|neither|some|not any|one|two|three)(?: of)?(?: the| these| those)?"
    r"(?: (?:above|below|preceding|previous|following|others?)(?: (?:options|choices|answers))?"
    r"| (?:options|choices|answers)|(?<=these)|(?<=those))(?: (?:is|are) \w+)?",
    re.IGNORECASE,
)
# Letters as names of options: "A and B", "Both (A) & (C)", "only B", "option D". A bare "A" is a text.
_LETTER = r"\(?[A-Z]\)?"
_BY_LETTER = re.compile(
    rf"(?:(?i:both|either|neither|only|options?|choices?|answers?) )*"
    rf"(?:{_LETTER}(?:(?:, | ?& ?| ?/ ?| (?:and|or|nor) |, (?:and|or) )(?:(?i:option|choice|answer) )?{_LETTER})+"
    rf"|(?<= ){_LETTER})(?: (?i:only|(?:is|are) \w+))?"
)


def base_id(item_id: str) -> str:
    """The id without the suffixes of rotations."""
    while _SUFFIX.search(item_id):
        item_id = _SUFFIX.sub("", item_id)
    return item_id


def rotation_of(item_id: str) -> tuple[str, int]:
    """Id of the base item and number of the rotation.

    Raises:
        ValueError: the id is not that of a rotated item.
    """
    found = _SUFFIX.search(item_id)
    if not found:
        raise ValueError(f"item {item_id!r} is no rotation: its id does not end with #r and a number")
    return item_id[: found.start()], int(found[1])


def movable(options: list[str]) -> list[int]:
    """Places of the options that take part in the rotation.

    Raises:
        RowError: the options cannot be rotated without changing what they mean.
    """
    texts = [re.sub(r"\s+", " ", option).strip().rstrip(".。") for option in options]
    fixed = []
    for place, text in enumerate(texts):
        if _BY_LETTER.fullmatch(text):
            raise RowError(f"option {brief(options[place])} names other options by letter; they cannot change places")
        if _ABOUT_OTHERS.fullmatch(text) or text.startswith("以上"):  # Chinese: "of the above", all or none
            fixed.append(place)
    if fixed and fixed != list(range(fixed[0], len(options))):
        raise RowError(f"option {brief(options[fixed[0]])} speaks about the others and does not stand last")
    free = [place for place in range(len(options)) if place not in fixed]
    if len(free) < 2:
        raise RowError(f"{len(free)} options can change places, a rotation needs two")
    return free


def order(options: list[str], rotation: int) -> list[int]:
    """Which original option stands at each place after ``rotation`` steps.

    Raises:
        RowError: as :func:`movable`.
    """
    places = list(range(len(options)))
    free = movable(options)
    for step, place in enumerate(free):
        places[place] = free[(step + rotation) % len(free)]
    return places


def rotate_items(items: pa.Table, where: str) -> tuple[pa.Table, pa.Table]:
    """All rotations but the first of every item, and the items that cannot be rotated.

    Args:
        items: an ITEMS table.
        where: file of ``items``, for the rejected rows.

    Returns:
        ITEMS rows, an item's rotations one after the other; REJECTED rows.

    Raises:
        ContractError: not one item can be rotated.
    """
    rotated: list[dict[str, Any]] = []
    rejected: list[dict[str, Any]] = []
    for item in items.to_pylist():
        try:
            steps = len(movable(item["options"]))
        except RowError as error:
            place = {"source": where, "position": item["item_id"], "item_id": item["item_id"]}
            rejected.append({**place, "reason": str(error)})
            continue
        for step in range(1, steps):
            places = order(item["options"], step)
            options = [item["options"][place] for place in places]
            answer = None if item["answer"] is None else places.index(item["answer"])
            rotated.append({**item, "item_id": f"{item['item_id']}#r{step}", "options": options, "answer": answer})
    if not rotated:
        raise ContractError(f"{where}: the options of none of the {items.num_rows} items can be rotated")
    return pa.Table.from_pylist(rotated, ITEMS.schema), pa.Table.from_pylist(rejected, REJECTED.schema)
