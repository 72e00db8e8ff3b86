"""Figures of VSR: contrasts by relation category and position set, and overlays of subject and object on the photo."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image

from vlmdx.mechanism.figures import COLOURS, NAMES, RANDOM, RIGHT, WIDTH, WRONG, forest_rows
from vlmdx.mechanism.overlay import marks
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION
from vlmdx.mechanism.vsr import SETS, position_sets
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Rule

MARKS = dict(zip(SETS, ("#de8f05", "#0173b2", "#029e73"), strict=True))  # seaborn's colour-blind palette


def draw_vsr(table: pd.DataFrame, alpha: float, test: str) -> Figure:
    """A column per position set: grounding strength by relation category above, Cohen's d below.

    Args:
        table: one model's rows of vsr.csv.
        alpha: level; marks are filled where the q-value is at most this.
        test: whose q-value decides.
    """
    categories = sorted(table["category"].unique(), reverse=True)
    figure = Figure(figsize=(WIDTH, 0.78 * len(categories) + 1.9), layout="constrained")
    grid = figure.subplots(2, len(SETS), sharey=True, sharex="row", squeeze=False, height_ratios=(1, 2.2))
    for (top, bottom), name in zip(grid.T, SETS, strict=True):
        own = table[table["grounding"] == name]
        _strengths(top, own, categories)
        forest_rows(bottom, own, "category", categories, alpha, test)
        top.set_title(f"intervention on {name}")
    grid[0][1].set_xlabel("mean grounding strength (GS), nats")
    reach = pd.to_numeric(table["d"]).abs().max()
    reach = 1.0 if pd.isna(reach) else reach
    grid[1][0].set_xlim(-1.6 * reach - 0.3, 1.6 * reach + 0.3)  # intervals of tiny groups may reach far beyond
    grid[1][1].set_xlabel(f"Cohen's d of the peak effect, right minus wrong (filled: q <= {alpha:g}; grey: shuffled)")
    dots = {"answered right": (RIGHT, "o"), "answered wrong": (WRONG, "s"), "random tokens": (RANDOM, "x")}
    handles = [Line2D([], [], linestyle="", marker=m, color=c, label=n) for n, (c, m) in dots.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    handles = [Line2D([], [], marker="o", color=COLOURS[kind], label=NAMES[kind]) for kind in KINDS]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _strengths(axis: Axes, rows: pd.DataFrame, categories: Sequence[str]) -> None:
    """GS of right and wrong items, and of random tokens."""
    ablation = rows[(rows["intervention"] == MEAN_ABLATION[0]) & (rows["position"] == MEAN_ABLATION[1])]
    by_category = ablation.set_index("category")
    for height, category in enumerate(categories):
        if category not in by_category.index:
            continue
        row = by_category.loc[category]
        for column, colour, marker in (("correct", RIGHT, "o"), ("incorrect", WRONG, "s"), ("random", RANDOM, "x")):
            axis.plot(row[f"peak_{column}"], height, marker, color=colour, markersize=4.5, alpha=0.9)
    axis.axvline(0, color=RANDOM, linewidth=0.8)
    axis.set_yticks(range(len(categories)), categories)
    axis.set_ylim(-0.6, len(categories) - 0.4)


def vsr_overlay(
    adapter: Adapter, item: Mapping[str, Any], data: bytes, effects: pd.DataFrame, template: str, rule: Rule, seed: int
) -> dict[str, Any]:
    """One row of :func:`draw_vsr_overlays`.

    Args:
        adapter: the model.
        item: row of the item table, dissected by this model.
        data: its encoded image.
        effects: the model's rows of the VSR effects contract.
        template, rule, seed: as in the effects job.
    """
    image = Image.open(io.BytesIO(data)).convert("RGB")
    sets = position_sets(item)
    own = effects[effects["item_id"] == item["item_id"]]
    there = [name for name in ("subject", "object") if name in set(own["grounding"])]
    verdict = "right" if own["correct"].iloc[0] else "wrong"
    statement = item["question"].rpartition("? ")[2]
    return {
        "image": image,
        "marks": {name: marks(adapter, sets[name], image, template, rule, seed) for name in there},
        "title": f"{item['category']}: {statement}\ngold: {item['options'][item['answer']]}, answered {verdict}",
        "effects": own,
    }


def draw_vsr_overlays(shown: Sequence[Mapping[str, Any]]) -> Figure:
    """One row per statement: the photo with boxes and tokens of subject and object, and effects by layer.

    Args:
        shown: per statement ``image`` (Pillow), ``marks`` (position set -> boxes and cells in image pixels), ``title``,
            ``effects`` (rows of the VSR effects contract).
    """
    figure = Figure(figsize=(WIDTH, 2.3 * len(shown) + 0.4), layout="constrained")
    grid = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(1, 1.3))
    for (left, right), item in zip(grid, shown, strict=True):
        left.imshow(item["image"])
        left.set_axis_off()
        for name, (boxes, cells) in item["marks"].items():
            for x, y, w, h in cells:
                left.add_patch(
                    Rectangle((x, y), w, h, facecolor=MARKS[name], alpha=0.2, edgecolor="white", linewidth=0.4)
                )
            for x, y, w, h in boxes:
                left.add_patch(Rectangle((x, y), w, h, fill=False, edgecolor=MARKS[name], linewidth=1.5))
        left.set_xlim(-0.5, item["image"].width - 0.5)
        left.set_ylim(item["image"].height - 0.5, -0.5)
        for kind, line in ((MEAN_ABLATION, "-"), (ATTENTION_KNOCKOUT, ":")):
            for name in reversed(SETS):  # "both" below: it hides what it equals, where one object covers the other
                chosen = item["effects"][
                    (item["effects"]["intervention"] == kind[0])
                    & (item["effects"]["position"] == kind[1])
                    & (item["effects"]["grounding"] == name)
                ].sort_values("layer")
                under = {"linewidth": 3.5, "alpha": 0.45} if name == "both" else {}
                right.plot(chosen["layer"], chosen["delta"], line, color=MARKS[name], **under)
        right.axhline(0, color=RANDOM, linewidth=0.5)
        right.set_title(item["title"], fontsize=7)
        right.set_ylabel("effect, nats")
        right.xaxis.get_major_locator().set_params(integer=True)
    grid[-1][1].set_xlabel("layer")
    handles = [Line2D([], [], color=colour, label=name) for name, colour in MARKS.items()]
    handles.append(Line2D([], [], color=RANDOM, label=NAMES[MEAN_ABLATION]))
    handles.append(Line2D([], [], color=RANDOM, linestyle=":", label=NAMES[ATTENTION_KNOCKOUT]))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)
    return figure


def strongest_statements(effects: pd.DataFrame, per_category: int) -> list[str]:
    """Statements of largest grounding strength (both sets), ``per_category`` of each; ties by item id."""
    peak = (
        effects[effects["intervention"] == MEAN_ABLATION[0]]
        .groupby(["category", "item_id"])["delta"]
        .max()
        .reset_index()
        .sort_values(["category", "delta", "item_id"], ascending=[True, False, True])
    )
    return peak.groupby("category", sort=True).head(per_category)["item_id"].tolist()
