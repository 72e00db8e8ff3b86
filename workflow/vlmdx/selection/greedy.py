"""Greedy choice of items that waver and differ from each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from vlmdx.schema.tables import SELECTION

# Objective and similarity are compared at this many decimals: what float32 embeddings and BLAS round differently from
# machine to machine, or for two equal rows of one matrix, must not decide; the item id does.
DECIMALS = 6


@dataclass(frozen=True)
class Selection:
    """The chosen items as a SELECTION table, and what kept the others out."""

    table: pa.Table
    target: int
    unscored: int
    refused: int

    def account(self) -> str:
        """One line: how many were chosen, and in plain words why not more."""
        chosen = self.table.num_rows
        line = f"selected {chosen} of {self.target} wanted"
        if chosen == self.target:
            return line
        return (
            f"{line}: NOT ENOUGH ITEMS. {self.unscored} of the pool have no Gini impurity, {self.refused} are too "
            "similar to a chosen item; enlarge the pool, raise max_similarity or lower target"
        )


def select(
    item_ids: Sequence[str],
    gini: Sequence[float | None],
    image: np.ndarray,
    text: np.ndarray,
    *,
    target: int,
    weight_gini: float,
    weight_image: float,
    max_similarity: float,
) -> Selection:
    """Choose up to ``target`` items.

    Starts at the largest G; then repeatedly adds the item with the largest
    weight_gini * G + (1 - weight_gini) * (1 - s), where s is its largest similarity to a chosen item and similarity is
    weight_image * cos(image) + (1 - weight_image) * cos(text). Items with s above ``max_similarity`` are refused. Ties
    go to the smaller item id, so the result does not depend on the order of the rows. O(n * target) time, O(n) memory
    beside the embeddings.

    Args:
        item_ids: n ids, each once.
        gini: n impurities in [0, 1]; None where there is none: such an item cannot be chosen.
        image: float [n, d], L2-normalised rows.
        text: float [n, d'], L2-normalised rows.
        target: how many are wanted, at least 1.
        weight_gini: lambda in [0, 1].
        weight_image: w in [0, 1].
        max_similarity: tau.

    Raises:
        ValueError: lengths differ, an id repeats, rows are not normalised, or no item has a Gini impurity.
    """
    _check(item_ids, gini, image, text, target)
    order = sorted((i for i, value in enumerate(gini) if value is not None), key=lambda i: item_ids[i])
    if not order:
        raise ValueError("no item of the pool has a Gini impurity; the reasons stand in the voters' score shards")
    # One vector per item whose dot product is the weighted similarity.
    parts = [np.sqrt(weight_image) * image[order], np.sqrt(1 - weight_image) * text[order]]
    vectors = np.hstack(parts, dtype=np.float64)
    impurity = np.array([gini[i] for i in order], dtype=np.float64)
    nearest = np.full(len(order), -np.inf)
    free = np.ones(len(order), dtype=bool)
    rows: list[dict] = []
    best = int(np.argmax(np.round(impurity, DECIMALS)))
    with tqdm(total=target, desc="greedy selection", unit="item") as bar:
        while True:
            similarity = None if not rows else float(nearest[best])
            rows.append(
                {
                    "item_id": item_ids[order[best]],
                    "gini": gini[order[best]],
                    "rank": len(rows),
                    "similarity": similarity,
                }
            )
            bar.update()
            free[best] = False
            np.maximum(nearest, np.round(vectors @ vectors[best], DECIMALS), out=nearest)
            allowed = free & (nearest <= max_similarity)
            if len(rows) == target or not allowed.any():
                break
            objective = weight_gini * impurity + (1 - weight_gini) * (1 - nearest)
            best = int(np.argmax(np.where(allowed, np.round(objective, DECIMALS), -np.inf)))
    refused = int((free & (nearest > max_similarity)).sum())
    table = pa.Table.from_pylist(rows, schema=SELECTION.schema)
    return Selection(table, target, len(item_ids) - len(order), refused)


def _check(
    item_ids: Sequence[str], gini: Sequence[float | None], image: np.ndarray, text: np.ndarray, target: int
) -> None:
    sizes = {"item_ids": len(item_ids), "gini": len(gini), "image": len(image), "text": len(text)}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"these must be of equal length: {sizes}")
    if len(set(item_ids)) < len(item_ids):
        raise ValueError("an item id stands twice in the pool")
    if target < 1:
        raise ValueError(f"target is {target}, at least one item must be wanted")
    for name, matrix in (("image", image), ("text", text)):
        norms = np.linalg.norm(matrix, axis=1)
        if not np.allclose(norms, 1, atol=1e-3):
            at = int(np.argmax(np.abs(np.nan_to_num(norms, nan=np.inf) - 1)))
            raise ValueError(f"{name} embedding of item {item_ids[at]} has length {norms[at]:.4g}, it must be 1")
