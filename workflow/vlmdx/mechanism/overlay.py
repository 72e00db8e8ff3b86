"""What an overlay shows: a few items of each operation, with boxes and token cells in the pixels of their image."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from PIL import Image

from vlmdx.mechanism.grounding import item_branches
from vlmdx.mechanism.prepare import prepare
from vlmdx.mechanism.sample import MEAN_ABLATION
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Box, Rule


def overlay(
    adapter: Adapter,
    item: Mapping[str, Any],
    data: bytes,
    effects: pd.DataFrame,
    mode: str,
    template: str,
    rule: Rule,
    seed: int,
) -> dict[str, Any]:
    """One row of :func:`vlmdx.mechanism.figures.draw_overlays`.

    Args:
        adapter: the model.
        item: row of the item table.
        data: its encoded image.
        effects: the model's rows of the effects contract.
        mode: failure mode of its operation.
        template, rule, seed: as in the effects job.
    """
    image = Image.open(io.BytesIO(data)).convert("RGB")
    boxes, cells = marks(adapter, item, image, template, rule, seed)
    own = effects[effects["item_id"] == item["item_id"]]
    verdict = "right" if own["correct"].iloc[0] else "wrong"
    return {
        "image": image,
        "boxes": boxes,
        "cells": cells,
        "title": f"{item['operation']} ({mode}): {item['question']}\n"
        f"gold: {item['options'][item['answer']]}, answered {verdict}",
        "effects": own,
    }


def marks(
    adapter: Adapter, item: Mapping[str, Any], image: Image.Image, template: str, rule: Rule, seed: int
) -> tuple[list[Box], list[Box]]:
    """Boxes of the item's grounding objects and cells of its tokens, (x, y, w, h) in pixels of ``image``."""
    ready = prepare(adapter, item, image, template, rule, seed)
    positions, views = adapter.image_views(ready.samples[0].ids, image)
    covered = {token for sample in ready.samples for token in sample.tokens}
    names = {i for ids in item_branches(item) for i in ids}
    boxes = [(o["x"], o["y"], o["w"], o["h"]) for o in item["objects"] if o["object_id"] in names]
    return boxes, [view.cell_box(token) for view in views for token in view.tokens if positions[token] in covered]


def strongest(effects: pd.DataFrame, operations: Sequence[str], per_operation: int) -> list[str]:
    """Items of largest grounding strength, ``per_operation`` of each; ties by item id."""
    same = (effects["intervention"] == MEAN_ABLATION[0]) & effects["operation"].isin(operations)
    peak = effects[same].groupby(["operation", "item_id"])["delta"].max().reset_index()
    ordered = peak.sort_values(["operation", "delta", "item_id"], ascending=[True, False, True])
    return ordered.groupby("operation", sort=True).head(per_operation)["item_id"].tolist()
