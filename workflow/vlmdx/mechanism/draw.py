"""Which questions of an operation are dissected: n of each, by a seeded hash of the id (arXiv 2607.16094).

Where the paper compares right with wrong answers of a model that is nearly always right, n questions hold too few wrong
ones. So a draw may be balanced (ours): half right, half wrong, and in each half as many yes as no as far as there are,
since a model that likes to say yes would otherwise make "right" another word for "yes".
"""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from vlmdx.mechanism.grounding import SetAside, item_branches

Item = Mapping[str, Any]
ANSWERS = ("yes", "no", "other")


def draw(
    items: Sequence[Item], operation: str, n: int | None, seed: int, correct: Mapping[str, bool] | None = None
) -> tuple[list[Item], list[tuple[str, str]]]:
    """Draw items of one operation that can be grounded.

    The order of the draw is a hash of seed and item id, so a larger n contains a smaller one, and neither other
    operations nor the order of the table matter.

    Args:
        items: rows of the item table.
        operation: one of the seven.
        n: how many; None for all. Where there are fewer, all are taken.
        seed: of the draw.
        correct: a model's correctness by item id; given, half of the draw is right and half wrong, and each half takes
            yes, no and other answers in turn; what one side lacks the other fills (items without an entry are not
            drawn).

    Returns:
        The drawn items, in order of item id, and (item_id, reason) of those of this operation that cannot be used.

    Raises:
        ValueError: nothing can be drawn.
    """
    usable, aside = [], []
    for item in items:
        if item["operation"] != operation:
            continue
        try:
            if item["answer"] is None:
                raise SetAside("the item has no gold answer")
            item_branches(item)
        except SetAside as reason:
            aside.append((item["item_id"], str(reason)))
        else:
            usable.append(item)
    usable.sort(key=lambda item: hashlib.sha256(f"{seed}\0{item['item_id']}".encode()).digest())
    chosen = usable[:n] if correct is None else _balanced(usable, len(usable) if n is None else n, correct)
    if not chosen:
        raise ValueError(
            f"operation {operation!r}: none of {len(items)} items can be drawn, {len(aside)} of them set aside"
            + (f", first reason: {aside[0][1]}" if aside else "; the table has no question of this operation")
        )
    return sorted(chosen, key=lambda item: item["item_id"]), aside


def answer(item: Item) -> str:
    """Gold answer of an item: yes, no, or other."""
    gold = item["options"][item["answer"]]
    return gold if gold in ANSWERS else ANSWERS[-1]


def _balanced(usable: Sequence[Item], n: int, correct: Mapping[str, bool]) -> list[Item]:
    """n of the items, in the order given, half right and half wrong; a larger n contains a smaller one."""
    right, wrong = (
        _in_turn([item for item in usable if correct.get(item["item_id"]) is group]) for group in (True, False)
    )
    from_right = min(len(right), n - min(len(wrong), n // 2))
    return right[:from_right] + wrong[: n - from_right]


def _in_turn(items: Sequence[Item]) -> list[Item]:
    """The items with yes, no and other answers in turn, as long as there are; the order within each is kept."""
    rows = itertools.zip_longest(*([item for item in items if answer(item) == name] for name in ANSWERS))
    return [item for row in rows for item in row if item is not None]
