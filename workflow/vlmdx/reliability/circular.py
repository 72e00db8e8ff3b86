"""Position bias from rotated options: one row per model, beside its plain figures on the same items.

Everything is compared by option text (its index in the base item), never by letter. Bias of a letter = share of the
answers that chose it - the share it would have if only the text decided. An item's rotations show each movable option
at each movable place once, so without bias every such place gets 1/m of the choices of movable options (ours).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlmdx.models.prompts import LETTERS
from vlmdx.schema import ContractError, read_table
from vlmdx.schema.tables import ITEMS, SCORES
from vlmdx.scoring.rotate import movable, order, rotation_of
from vlmdx.stats import cluster_bootstrap, null_if_nan

MEASURES = ("accuracy", "accuracy_rotations", "accuracy_circular", "consistency")
CLEAN_COLUMNS = ["item_id", "corruption", "option_index", "chosen", "reason"]


@dataclass(frozen=True)
class Turned:
    """All answers to one item: ``texts`` holds the original index of the chosen option, rotation by rotation."""

    image_id: str
    gold: int
    texts: tuple[int, ...]


def circular_rows(
    models: Mapping[str, tuple[str, str]],
    items: str,
    rotated: str,
    rejected: int,
    *,
    bootstrap: int,
    confidence: float,
    seed: int,
) -> list[dict[str, Any]]:
    """One row per model.

    Args:
        models: slug -> paths of its clean scores of the plain items and of the rotated items.
        items: path of the item table that holds the base items.
        rotated: path of the rotated items.
        rejected: number of items that cannot be rotated.
        bootstrap: replicates of the bootstrap clustered by image.
        confidence: two-sided level of its intervals.
        seed: of its draws.

    Returns:
        Rows with the columns model, items, left_out (cannot be rotated), set_aside (not scored in every rotation),
        answers, each of ``MEASURES`` with ``_low`` and ``_high``, ``position_bias`` (half the sum of the absolute
        biases) and one ``bias_X`` per letter. ``accuracy`` is the plain one, ``accuracy_rotations`` the mean over all
        rotations, ``accuracy_circular`` the share of items right in all of them (CircularEval), ``consistency`` the
        share of items answered with the same text in all of them.

    Raises:
        ContractError: a file breaks its contract, or a model has no item with an answer in every rotation.
    """
    base, steps = _items(items, rotated)
    rows = []
    for model, (plain_scores, turned_scores) in models.items():
        answers = {**_answers(plain_scores), **_answers(turned_scores)}
        found, aside, bias = _follow(base, steps, answers, turned_scores)
        if not found:
            raise ContractError(f"model {model!r}: no item has an answer in every rotation; see {turned_scores}")
        row = {"model": model, "items": len(found), "left_out": rejected, "set_aside": aside}
        row["answers"] = sum(len(item.texts) for item in found)
        rows.append(row | _shares(found, bootstrap, confidence, seed) | bias)
    letters = sorted({name for row in rows for name in row if name.startswith("bias_")})
    return [{**row, **{name: row.get(name) for name in letters}} for row in rows]


def _items(items: str, rotated: str) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    """Base items by id, and the number of rotations of each; the rotated file must be that of these items."""
    wanted = ["item_id", "image_id", "options", "answer"]
    turned = {item["item_id"]: item for item in read_table(rotated, ITEMS, wanted).to_pylist()}
    steps = Counter(rotation_of(item_id)[0] for item_id in turned)
    base = {item["item_id"]: item for item in read_table(items, ITEMS, wanted).to_pylist() if item["item_id"] in steps}
    for item_id, item in turned.items():
        name, step = rotation_of(item_id)
        options = base[name]["options"] if name in base else None
        if options is None or item["options"] != [options[place] for place in order(options, step)]:
            raise ContractError(f"{rotated}: {item_id!r} is no rotation of an item of {items}; rotate the bench again")
    return base, steps


def _answers(path: str) -> dict[str, int | None]:
    """Place of the chosen option of each item on its clean image; None where it was not scored."""
    found: dict[str, int | None] = {}
    for row in read_table(path, SCORES, CLEAN_COLUMNS, filters=[("corruption", "==", "clean")]).to_pylist():
        if row["reason"] is not None:
            found[row["item_id"]] = None
        elif row["chosen"]:
            found[row["item_id"]] = row["option_index"]
    return found


def _follow(
    base: Mapping[str, Mapping[str, Any]], steps: Mapping[str, int], answers: Mapping[str, int | None], where: str
) -> tuple[list[Turned], int, dict[str, float | None]]:
    """The answers of each item by text, how many items lack one, and the bias of each letter."""
    found: list[Turned] = []
    aside = total = 0
    chosen: Counter[int] = Counter()
    expected: dict[int, float] = defaultdict(float)
    for item_id, item in base.items():
        ids = [item_id, *(f"{item_id}#r{step}" for step in range(1, steps[item_id] + 1))]
        if missing := [name for name in ids if name not in answers]:
            raise ContractError(f"{where}: item {missing[0]!r} has no rows here or in the plain scores; score it again")
        places = [place for name in ids if (place := answers[name]) is not None]
        if len(places) < len(ids):
            aside += 1
            continue
        texts = tuple(order(item["options"], step)[place] for step, place in enumerate(places))
        found.append(Turned(item["image_id"], item["answer"], texts))
        free = movable(item["options"])
        moved = [place for place in places if place in free]
        total += len(moved)
        chosen.update(moved)
        for place in free:
            expected[place] += len(moved) / len(free)
    bias = {f"bias_{LETTERS[k]}": (chosen[k] - share) / total for k, share in sorted(expected.items()) if total}
    return found, aside, {"position_bias": sum(map(abs, bias.values())) / 2 if total else None, **bias}


def _shares(found: Sequence[Turned], bootstrap: int, confidence: float, seed: int) -> dict[str, float | None]:
    """``MEASURES`` with their intervals clustered by image."""
    values = [
        (
            item.texts[0] == item.gold,
            sum(text == item.gold for text in item.texts) / len(item.texts),
            all(text == item.gold for text in item.texts),
            len(set(item.texts)) == 1,
        )
        for item in found
    ]
    interval = cluster_bootstrap(
        [item.image_id for item in found],
        np.array(values, np.float64),
        replicates=bootstrap,
        confidence=confidence,
        seed=seed,
    )
    ends = {"": interval.value, "_low": interval.low, "_high": interval.high}
    return {f"{m}{end}": null_if_nan(values[k]) for k, m in enumerate(MEASURES) for end, values in ends.items()}
