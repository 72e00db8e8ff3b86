"""Figure: RAS of every corruption at every severity, per model."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from vlmdx.report.style import BETTER, INK, gap, panels, plain
from vlmdx.schema.names import CORRUPTIONS, FAMILIES

COLUMNS = 4


def draw_corruption_heatmap(ras: pd.DataFrame, models: Sequence[str]) -> Figure:
    """One panel per model: 19 corruptions by severity, colour = mean RAS on a scale that all panels share.

    Args:
        ras: from :func:`vlmdx.report.data.read_mean_ras`.
        models: slugs, one panel each.
    """
    names = [name for name in CORRUPTIONS if name in set(ras["corruption"])]
    severities = sorted(ras["severity"].unique())
    figure, axes = panels(len(models), COLUMNS, 0.25 + 0.165 * len(names))
    if ras.empty:
        for axis, model in zip(axes, models, strict=True):
            axis.set_title(model)
            gap(axis)
        return figure
    limit = max(float(ras["ras"].abs().max()), 0.01)
    family = {name: family for family, members in FAMILIES.items() for name in members}
    edges = [row for row in range(1, len(names)) if family[names[row]] != family[names[row - 1]]]
    for axis, model in zip(axes, models, strict=True):
        table = ras[ras["model"] == model].pivot(index="corruption", columns="severity", values="ras")
        table = table.reindex(index=names, columns=severities).astype(float)
        axis.set_title(model)
        axis.grid(visible=False)
        # Places without a value stay hatched: on this scale white means "nothing changed".
        axis.patch.set(facecolor="#f2f2f2", hatch="////", edgecolor="#bdbdbd", linewidth=0)
        scale = {"vmin": -limit, "vmax": limit, "cmap": "PuOr", "center": 0}
        sns.heatmap(table, mask=table.isna(), ax=axis, cbar=False, linewidths=0.5, **scale)
        axis.hlines(edges, 0, len(severities), color=INK, linewidth=0.8)
        axis.set(xlabel="", ylabel="")
        axis.set_yticks(np.arange(len(names)) + 0.5, [plain(name) for name in names], rotation=0)
        axis.set_xticks(np.arange(len(severities)) + 0.5, severities)
        axis.tick_params(length=0)
        if table.isna().all(axis=None):
            gap(axis)
    mappable = next(c for axis in axes for c in axis.collections if c.get_array() is not None)
    figure.colorbar(mappable, ax=axes, shrink=0.8, aspect=40, label=f"mean RAS ({BETTER})")
    figure.supxlabel("severity", fontsize=8)
    return figure
