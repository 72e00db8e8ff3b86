"""Figures of discovery: methods compared, failure modes, and when each skill was first exploited."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vlmdx.report.style import GRID, INK, MUTED, PALETTE, WIDTH, gap, marks, panels

METRICS = {
    "fdr": "failure discovery rate",
    "validity": "valid questions",
    "fdr_gain": "FDR, difference to zero-shot",
    "lexical_diversity": "lexical diversity",
    "semantic_diversity": "semantic diversity",
    "skill_coverage": "skills covered",
}
SHARES = ("fdr", "validity", "fdr_gain", "lexical_diversity")  # drawn in per cent
MOST = 24  # failure modes, or skills of a curriculum, that fit on a page


def draw_fdr(frame: pd.DataFrame, methods: Sequence[str]) -> Figure:
    """One panel per metric, one line per method, one mark per run: value and interval.

    Args:
        frame: ``fdr_table.csv``.
        methods: drawn from top to bottom.
    """
    runs = list(frame["run"].unique())
    figure, axes = panels(len(METRICS), 3, 0.45 + 0.24 * len(methods), sharex=False)
    looks, table = marks(runs), frame.set_index(["run", "method"])
    shifts = np.linspace(-0.22, 0.22, len(runs)) if len(runs) > 1 else [0.0]
    for axis, (metric, title) in zip(axes, METRICS.items(), strict=True):
        scale = 100 if metric in SHARES else 1
        for run, shift in zip(runs, shifts, strict=True):
            for place, method in enumerate(methods):
                value, low, high = (
                    scale * table.loc[(run, method)].get(f"{metric}{end}", np.nan) for end in ("", "_low", "_high")
                )
                if np.isnan(value):
                    continue
                where = place + shift
                axis.plot([low, high], [where, where], color=looks[run]["color"], linewidth=1.4)
                axis.plot(value, where, linestyle="", markersize=4.5, **looks[run])
        if metric == "fdr_gain":
            axis.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axis.set_title(title)
        axis.set_xlabel("%, points" if metric == "fdr_gain" else "%" if metric in SHARES else "")
        axis.set_yticks(range(len(methods)), methods)
        axis.set_ylim(len(methods) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        axis.locator_params(axis="x", nbins=5, integer=metric == "skill_coverage")
    handles = [Line2D([], [], **{**looks[run], "linestyle": ""}, label=run) for run in runs]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(runs)))
    return figure


def draw_failure_modes(frame: pd.DataFrame) -> Figure:
    """Failure rate of each tested skill against the run's base rate, strongest evidence first.

    Combinations are shown where they fail above the strongest of their skills.

    Args:
        frame: ``failure_modes.csv``.
    """
    shown = frame[(frame["kind"] == "skill") | frame["adds"].astype(bool)].head(MOST)
    figure = Figure(figsize=(WIDTH, 0.9 + 0.2 * max(1, len(shown))), layout="constrained")
    axis = figure.subplots()
    if shown.empty:
        gap(axis, "no skill has enough questions to be tested")
        return figure
    axis.axvline(100 * shown["base"].iloc[0], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for place, row in enumerate(shown.itertuples()):
        color, single = PALETTE[3] if row.failure_mode else PALETTE[0], row.kind == "skill"
        along = row.failure_mode and not row.rate_alone > row.base  # NaN: nothing is left of it at all
        axis.plot([100 * row.low, 100 * row.high], [place, place], color=color, linewidth=1.6)
        face = color if row.failure_mode and not along else "white"
        axis.plot(100 * row.rate, place, "o" if single else "D", markersize=5, color=color, markerfacecolor=face)
        q = f"q {row.q:.2g}   {row.failed:.0f} of {row.questions}"
        axis.text(1.01, place, q, transform=axis.get_yaxis_transform(), va="center", fontsize=6.5, color=MUTED)
    axis.set_yticks(range(len(shown)), [_short(mode) for mode in shown["mode"]])
    axis.set_ylim(len(shown) - 0.4, -0.6)
    axis.set_xlim(left=0)
    axis.set_xlabel("valid questions answered wrongly (%); dashed: all questions of the run")
    axis.grid(axis="y", visible=False)
    looks = [
        Line2D([], [], marker="o", linestyle="", color=PALETTE[3], label="failure mode"),
        Line2D(
            [], [], marker="o", linestyle="", color=PALETTE[3], markerfacecolor="white", label="only beside those above"
        ),
        Line2D([], [], marker="o", linestyle="", color=PALETTE[0], markerfacecolor="white", label="not above base"),
        Line2D([], [], marker="D", linestyle="", color=INK, markerfacecolor="white", label="combination of skills"),
    ]
    figure.legend(handles=looks, loc="outside lower center", ncols=4)
    return figure


def draw_curriculum(frame: pd.DataFrame, methods: Sequence[str]) -> Figure:
    """When each skill was first exploited: a mark per skill, method and seed; skills in the order of their medians.

    Args:
        frame: ``curriculum.csv`` of one run.
        methods: order of the legend.
    """
    known = frame.dropna(subset=["first_step"])
    present = [method for method in methods if method in set(frame["method"])]
    order = list(known.groupby("skill")["first_step"].median().sort_values(kind="stable").index)
    never = [skill for skill in sorted(set(frame["skill"])) if skill not in order]
    skills = (order + never)[:MOST]
    figure = Figure(figsize=(WIDTH, 1.0 + 0.21 * max(1, len(skills))), layout="constrained")
    axis = figure.subplots()
    if not skills:
        gap(axis, "no training asked for any skill")
        return figure
    looks = marks(list(methods))
    shifts = np.linspace(-0.26, 0.26, len(present)) if len(present) > 1 else [0.0]
    for shift, method in zip(shifts, present, strict=True):
        own = known[(known["method"] == method) & known["skill"].isin(skills)]
        at = [skills.index(skill) + shift for skill in own["skill"]]
        axis.plot(own["first_step"].astype(float), at, markersize=4, **{**looks[method], "linestyle": ""})
    for place, skill in enumerate(skills):
        axis.axhline(place + 0.5, color=GRID, linewidth=0.5, zorder=0)
        if skill in never:
            axis.text(0.5, place, "asked, never failed", transform=axis.get_yaxis_transform(), ha="center",
                      va="center", fontsize=6.5, color=MUTED, style="italic")  # fmt: skip
    axis.set_yticks(range(len(skills)), [_short(skill) for skill in skills])
    axis.set_ylim(len(skills) - 0.5, -0.5)
    axis.set_xlim(0, float(frame["steps"].max()) + 1)
    axis.set_xlabel("training step at which a valid question with this skill was first answered wrongly")
    axis.grid(axis="y", visible=False)
    handles = [Line2D([], [], **{**looks[method], "linestyle": ""}, label=method) for method in present]
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, len(present)))
    return figure


def _short(name: str, most: int = 64) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
