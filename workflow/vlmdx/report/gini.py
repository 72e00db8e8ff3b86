"""Figure: which questions the diagnostic benchmark was drawn from."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from vlmdx.report.style import INK, MUTED, PALETTE, gap

BINS = 30


def draw_gini(gini: pd.DataFrame, selection: pd.DataFrame) -> Figure:
    """Histogram of the pool's Gini impurity, the selected items on top, the lowest selected value as a line.

    Args:
        gini: columns item_id, gini (NaN where the item was not scored).
        selection: columns item_id, gini of the chosen items; may be empty.
    """
    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    axis = figure.subplots()
    known = gini.dropna(subset=["gini"])
    chosen = known["item_id"].isin(selection["item_id"])
    axis.set_xlabel("Gini impurity of the answer over severities\n(mean over corruptions and voters)")
    axis.set_ylabel("items")
    axis.grid(axis="x", visible=False)
    if known.empty:
        gap(axis, "no item of the pool has a Gini impurity")
        return figure
    edges = list(np.linspace(0, max(known["gini"].max(), 1e-3), BINS + 1))
    style: dict[str, Any] = {"bins": edges, "edgecolor": "white", "linewidth": 0.4, "alpha": 1, "ax": axis}
    missing = len(gini) - len(known)
    label = f"pool: {len(gini):,} items" + (f" ({missing:,} of them not scored)" if missing else "")
    sns.histplot(known["gini"], color="#c4c4c4", label=label, **style)
    if chosen.any():
        sns.histplot(known.loc[chosen, "gini"], color=PALETTE[0], label=f"selected: {chosen.sum():,}", **style)
        cut = known.loc[chosen, "gini"].min()
        axis.axvline(cut, color=INK, linewidth=1, linestyle=(0, (4, 3)), label=f"lowest selected: {cut:.3f}")
    else:
        axis.text(0.98, 0.92, "no item was selected", transform=axis.transAxes, ha="right", color=MUTED, style="italic")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
