"""Figures over severity: RAS of initially right and wrong answers, and what becomes of their correctness."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vlmdx.report.data import levels, pick
from vlmdx.report.style import BETTER, MUTED, PALETTE, gap, panels, zero_line

COLUMNS = 4
# Clean then corrupted correctness. Blue ends right, orange ends wrong; the pale ones did not change.
STATES = {
    "cc": ("right → right", "#9ecae8"),
    "wc": ("wrong → right (lucky gain)", "#0173b2"),
    "cw": ("right → wrong", "#c44e00"),
    "ww": ("wrong → wrong", "#f6cfa6"),
}
SOURCES = {
    "ras_given_correct_clean": ("right on the clean image ($Q_c$)", PALETTE[0], "o"),
    "ras_given_wrong_clean": ("wrong on the clean image ($Q_w$)", PALETTE[3], "s"),
}


def draw_severity_trends(frame: pd.DataFrame, models: Sequence[str]) -> Figure:
    """One panel per model: mean RAS over severity for Q_c and Q_w, with intervals as bands.

    Args:
        frame: from :func:`vlmdx.report.data.read_summaries`.
        models: slugs, one panel each.
    """
    severities = levels(frame, "severity")
    x = np.array([int(level) for level in severities])
    figure, axes = panels(len(models), COLUMNS, 1.6)
    for axis, model in zip(axes, models, strict=True):
        zero_line(axis)
        axis.set_title(model)
        axis.set_xticks(x)
        drawn = 0
        for metric, (label, colour, marker) in SOURCES.items():
            rows = pick(frame, metric, "severity", model, severities)
            drawn += rows["value"].notna().sum()
            axis.fill_between(x, rows["low"], rows["high"], color=colour, alpha=0.2, linewidth=0)
            axis.plot(x, rows["value"], color=colour, marker=marker, label=label)
        _mark_missing(axis, frame, model, severities)
        if not drawn:
            gap(axis)
    figure.supxlabel("severity", fontsize=8)
    figure.supylabel(f"mean RAS\n({BETTER})", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2 if len(models) > 1 else 1)
    return figure


def draw_state_shares(frame: pd.DataFrame, models: Sequence[str]) -> Figure:
    """One panel per model: shares of the four correctness states by severity, stacked to 100 %.

    Args:
        frame: from :func:`vlmdx.report.data.read_summaries`.
        models: slugs, one panel each.
    """
    severities = levels(frame, "severity")
    x = np.array([int(level) for level in severities])
    figure, axes = panels(len(models), COLUMNS, 1.6)
    for axis, model in zip(axes, models, strict=True):
        axis.set_title(model)
        axis.set_xticks(x)
        base = np.zeros(len(x))
        for state, (label, colour) in STATES.items():
            share = 100 * pick(frame, f"share_{state}", "severity", model, severities)["value"].to_numpy()
            axis.bar(x, share, 0.82, bottom=base, color=colour, label=label, edgecolor="white", linewidth=0.4)
            base += np.nan_to_num(share)
        axis.set_ylim(0, 100)
        axis.grid(visible=False)
        _mark_missing(axis, frame, model, severities)
        if not base.any():
            gap(axis)
    figure.supxlabel("severity", fontsize=8)
    figure.supylabel("share of answers (%)", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4 if len(models) > 2 else 2)
    return figure


def _mark_missing(axis, frame: pd.DataFrame, model: str, severities: Sequence[str]) -> None:
    rows = pick(frame, "ras", "severity", model, severities)
    if rows["value"].isna().all():
        return
    for level in rows.index[rows["value"].isna()]:
        place = axis.get_xaxis_transform()
        axis.text(
            int(level),
            0.5,
            "no data",
            transform=place,
            rotation=90,
            ha="center",
            va="center",
            color=MUTED,
            style="italic",
        )
