"""Figure: does the most accurate model keep its belief best?"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from vlmdx.report.data import pick
from vlmdx.report.style import BETTER, gap, marks, zero_line


def draw_accuracy_ras(frame: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Clean accuracy against RAS, one mark per model, intervals in both directions.

    Args:
        frame: from :func:`vlmdx.report.data.read_summaries`.
        models: slugs, in the order of the legend.
    """
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axis = figure.subplots()
    zero_line(axis)
    looks, drawn = marks(models), 0
    for model in models:
        accuracy = 100 * pick(frame, "accuracy_clean", "all", model, ["all"]).iloc[0]
        ras = pick(frame, "ras", "all", model, ["all"]).iloc[0]
        known = not (pd.isna(accuracy["value"]) or pd.isna(ras["value"]))
        drawn += known
        style: dict[str, Any] = {"color": looks[model]["color"], "linewidth": 1.0, "alpha": 0.7}
        axis.plot([accuracy["low"], accuracy["high"]], [ras["value"]] * 2, **style)
        axis.plot([accuracy["value"]] * 2, [ras["low"], ras["high"]], **style)
        label = model if known else f"{model} (no data)"
        axis.plot(accuracy["value"], ras["value"], linestyle="", markersize=6, label=label, **looks[model])
    if not drawn:
        gap(axis)
    axis.set_xlabel("accuracy on clean images (%)")
    axis.set_ylabel(f"RAS ({BETTER})")
    figure.legend(loc="outside right upper")
    return figure
