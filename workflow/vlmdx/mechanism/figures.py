"""Figures of the mechanism: layer curves, operation x layer maps, forest plot of d, overlays on the image."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image

from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Kind
from vlmdx.stats.bootstrap import cluster_bootstrap

NAMES: dict[Kind, str] = {
    MEAN_ABLATION: "mean ablation",
    ATTENTION_KNOCKOUT: "attention knockout",
    MLP_OBJECT: "MLP knockout, object",
    MLP_ANSWER: "MLP knockout, answer",
}
COLOURS: dict[Kind, str] = dict(zip(NAMES, ("#0173b2", "#de8f05", "#029e73", "#d55e00"), strict=True))
RIGHT, WRONG, RANDOM = "#0173b2", "#d55e00", "#6b6b6b"
WIDTH = 7.2  # inches


def draw_layer_curves(
    effects: pd.DataFrame, control: pd.DataFrame, images: Mapping[str, str], *, replicates: int, seed: int
) -> Figure:
    """Mean effect by layer of right and wrong items with 95 % bands clustered by image; random tokens dashed.

    Args:
        effects: rows of the effects contract, one model.
        control: the same for random image tokens; may be empty.
        images: image id by item id.
        replicates: of the bootstrap.
        seed: of the bootstrap.
    """
    operations = sorted(effects["operation"].unique())
    figure = Figure(figsize=(WIDTH, 1.25 * len(KINDS) + 0.7), layout="constrained")
    grid = figure.subplots(len(KINDS), len(operations), sharex=True, sharey="row", squeeze=False)
    for row, kind in zip(grid, KINDS, strict=True):
        for axis, operation in zip(row, operations, strict=True):
            for part, colour, label in ((True, RIGHT, "answered right"), (False, WRONG, "answered wrong")):
                chosen = _chosen(effects, operation, kind)
                _band(axis, chosen[chosen["correct"] == part], images, colour, label, replicates, seed)
            mean = _chosen(control, operation, kind).groupby("layer")["delta"].mean()
            axis.plot(mean.index, mean, color=RANDOM, linewidth=0.9, linestyle="--", label="random tokens")
            axis.axhline(0, color=RANDOM, linewidth=0.5)
        row[0].set_ylabel(NAMES[kind].replace(", ", "\n").replace(" ", "\n", 1), fontsize=7)
    for axis, operation in zip(grid[0], operations, strict=True):
        axis.set_title(operation)
    figure.supxlabel("layer", fontsize=8)
    figure.supylabel("effect on log p(gold), nats", fontsize=8)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def draw_heatmaps(effects: pd.DataFrame) -> Figure:
    """Mean effect of each operation in each layer, one map per intervention; colour scale symmetric about 0."""
    operations = sorted(effects["operation"].unique())
    figure = Figure(figsize=(WIDTH, 0.42 * len(operations) + 2.2), layout="constrained")
    for axis, kind in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, KINDS, strict=True):
        chosen = effects[(effects["intervention"] == kind[0]) & (effects["position"] == kind[1])]
        wide = chosen.pivot_table(index="operation", columns="layer", values="delta", aggfunc="mean").loc[operations]
        limit = max(float(np.abs(wide.to_numpy()).max()), 1e-6)
        shown = axis.imshow(wide, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
        axis.set_yticks(range(len(operations)), operations)
        axis.set_title(NAMES[kind])
        axis.grid(False)
        figure.colorbar(shown, ax=axis, pad=0.02).outline.set_visible(False)
    figure.supxlabel("layer", fontsize=8)
    figure.suptitle("mean effect on log p(gold), nats", fontsize=8)
    return figure


def draw_forest(pathways: pd.DataFrame, alpha: float, test: str) -> Figure:
    """Cohen's d (right minus wrong) of each operation and intervention with its interval.

    Filled marks are significant after false-discovery control; grey bars span d under shuffled correctness.

    Args:
        pathways: one model's table of contrasts.
        alpha: level.
        test: whose q-value decides.
    """
    operations = sorted(pathways["operation"].unique(), reverse=True)
    figure = Figure(figsize=(WIDTH * 0.75, 0.62 * len(operations) + 0.9), layout="constrained")
    axis = figure.subplots()
    forest_rows(axis, pathways, "operation", operations, alpha, test)
    reach = pathways["d"].abs().max()
    reach = 1.0 if pd.isna(reach) else reach
    axis.set_xlim(-1.6 * reach - 0.3, 1.6 * reach + 0.3)  # intervals of tiny groups may reach far beyond
    axis.set_xlabel(f"Cohen's d of the peak effect, right minus wrong (filled: q <= {alpha:g}; grey: shuffled)")
    handles = [Line2D([], [], marker="o", color=COLOURS[kind], label=NAMES[kind]) for kind in KINDS]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def forest_rows(axis: Axes, table: pd.DataFrame, by: str, names: Sequence[str], alpha: float, test: str) -> None:
    """Marks and intervals of d, a row per name from the bottom up and the interventions in it from the top down.

    Args:
        axis: to draw in.
        table: contrasts.
        by: column that holds the names.
        names: rows; one without a d stays empty.
        alpha: marks are filled where the q-value is at most this.
        test: whose q-value decides.
    """
    for place, kind in enumerate(KINDS):
        same = table[(table["intervention"] == kind[0]) & (table["position"] == kind[1])].set_index(by)
        for height, name in enumerate(names):
            if name not in same.index or pd.isna(same.loc[name, "d"]):
                continue
            row, y = same.loc[name], height + 0.3 - 0.2 * place
            axis.plot([row["shuffled_low"], row["shuffled_high"]], [y, y], color="#d9d9d9", linewidth=5, zorder=1)
            axis.plot([row["d_low"], row["d_high"]], [y, y], color=COLOURS[kind], linewidth=1.2, zorder=2)
            face = COLOURS[kind] if row[f"q_{test}"] <= alpha else "white"
            axis.plot(row["d"], y, "o", color=COLOURS[kind], markerfacecolor=face, markersize=4, zorder=3)
    known = set(table.loc[table["d"].notna(), by])
    for height, name in enumerate(names):
        if name not in known:  # an empty row would look like d = 0
            across = axis.get_yaxis_transform()
            said = axis.text(0.02, height, "too few right or wrong", transform=across, va="center", color=RANDOM)
            said.set(fontsize=6.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    axis.axvline(0, color=RANDOM, linewidth=0.8)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.6, len(names) - 0.4)


def draw_overlays(shown: Sequence[Mapping[str, Any]]) -> Figure:
    """One row per item: the image with boxes and tokens of the grounding set, and its effects by layer.

    Args:
        shown: per item ``image`` (Pillow), ``boxes`` and ``cells`` (x, y, w, h in image pixels), ``title``, ``effects``
            (rows of the effects contract).
    """
    figure = Figure(figsize=(WIDTH, 2.1 * len(shown)), layout="constrained")
    grid = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(1, 1.4))
    for (left, right), item in zip(grid, shown, strict=True):
        image: Image.Image = item["image"]
        left.imshow(image)
        left.set_axis_off()
        for x, y, w, h in item["cells"]:
            left.add_patch(Rectangle((x, y), w, h, facecolor="#ffffff66", edgecolor="white", linewidth=0.5))
        for x, y, w, h in item["boxes"]:
            left.add_patch(Rectangle((x, y), w, h, fill=False, edgecolor="#d55e00", linewidth=1.3))
        left.set_xlim(-0.5, image.width - 0.5)
        left.set_ylim(image.height - 0.5, -0.5)
        for kind in KINDS:
            curve = _chosen(item["effects"], None, kind).groupby("layer")["delta"].mean()
            right.plot(curve.index, curve, color=COLOURS[kind], label=NAMES[kind])
        right.axhline(0, color=RANDOM, linewidth=0.5)
        right.set_title(item["title"], fontsize=7)
        right.set_ylabel("effect, nats")
    grid[-1][1].set_xlabel("layer")
    handles, labels = grid[0][1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def _chosen(effects: pd.DataFrame, operation: str | None, kind: Kind) -> pd.DataFrame:
    same = (effects["intervention"] == kind[0]) & (effects["position"] == kind[1])
    return effects[same if operation is None else same & (effects["operation"] == operation)]


def _band(
    axis: Axes, rows: pd.DataFrame, images: Mapping[str, str], colour: str, label: str, replicates: int, seed: int
) -> None:
    if rows.empty:
        axis.plot([], [], color=colour, label=label)
        return
    wide = rows.pivot(index="item_id", columns="layer", values="delta")
    found = cluster_bootstrap([images[i] for i in wide.index], wide.to_numpy(), replicates=replicates, seed=seed)
    axis.plot(wide.columns, found.value, color=colour, linewidth=1.1, label=label)
    axis.fill_between(wide.columns, found.low, found.high, color=colour, alpha=0.18, linewidth=0)
