"""Figure: RAS of every model, overall and by corruption family."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vlmdx.report.data import levels, pick
from vlmdx.report.style import BETTER, MUTED, marks, panels, plain, zero_line
from vlmdx.schema.names import FAMILIES


def draw_ras_by_family(frame: pd.DataFrame, models: Sequence[str]) -> Figure:
    """One panel per family, one row per model: mean RAS with its interval.

    Args:
        frame: from :func:`vlmdx.report.data.read_summaries`.
        models: slugs, drawn from top to bottom.
    """
    present = levels(frame, "family")
    families = [family for family in FAMILIES if family in present]
    families += [family for family in present if family not in families]
    scopes = [("all", "all"), *(("family", family) for family in families)]
    figure, axes = panels(len(scopes), 3, 0.45 + 0.19 * len(models))
    looks = marks(models)
    for axis, (scope, level) in zip(axes, scopes, strict=True):
        zero_line(axis, vertical=True)
        for row, model in enumerate(models):
            value, low, high = pick(frame, "ras", scope, model, [level])[["value", "low", "high"]].to_numpy()[0]
            if np.isnan(value):
                place = axis.get_yaxis_transform()
                axis.text(0.5, row, "no data", transform=place, ha="center", va="center", color=MUTED, style="italic")
                continue
            axis.plot([low, high], [row, row], color=looks[model]["color"], linewidth=1.6, solid_capstyle="butt")
            axis.plot(value, row, linestyle="", markersize=5, **looks[model])
        axis.set_title("all corruptions" if scope == "all" else plain(level))
        axis.set_yticks(range(len(models)), models)
        axis.set_ylim(len(models) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        axis.locator_params(axis="x", nbins=5)
    figure.supxlabel(f"RAS, mean and clustered bootstrap interval ({BETTER})", fontsize=8)
    return figure
