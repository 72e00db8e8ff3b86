"""Which questions of an operation are dissected: n of each, by a seeded hash of the id (arXiv 2607.16094)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from vlmdx.mechanism.grounding import SetAside, item_branches

Item = Mapping[str, Any]


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
        correct: a model's correctness by item id; given, half of the draw is right and half wrong, as far as there are
            (items without an entry are not drawn).

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
    if correct is None:
        chosen = usable[:n]
    else:
        groups = [[item for item in usable if correct.get(item["item_id"]) is right] for right in (True, False)]
        shares = [len(g) for g in groups] if n is None else [n - n // 2, n // 2]
        chosen = [item for group, share in zip(groups, shares, strict=True) for item in group[:share]]
    if not chosen:
        raise ValueError(
            f"operation {operation!r}: none of {len(items)} items can be drawn, {len(aside)} of them set aside"
            + (f", first reason: {aside[0][1]}" if aside else "; the table has no question of this operation")
        )
    return sorted(chosen, key=lambda item: item["item_id"]), aside
