"""Curves of questioners in training, from their log.csv (discovery, arXiv 2604.04733)."""

import os
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vlmdx.report.style import MUTED, gap, marks, panels

COLUMNS = 4
# Column of log.csv, what it is called, and whether it is a share between 0 and 1.
CURVES = (
    ("reward", "reward", False),
    ("failed", "failure discovery rate", True),
    ("valid", "valid questions", True),
    ("undecided", "undecided", True),
    ("semantic", "semantic diversity", True),
    ("lexical", "lexical diversity", True),
    ("delta", "diversity $\\Delta$", True),
    ("penalty", "penalty $P$", False),
    ("group_spread", "spread within groups", False),
    ("zero_spread", "groups without spread", True),
    ("clipped", "cut-off questions", True),
    ("tokens", "tokens per question", False),
    ("entropy", "entropy (nats)", False),
    ("kl", "KL to first policy (nats)", False),
    ("loss", "loss", False),
    ("grad_norm", "gradient norm", False),
)
SMOOTHED = 20  # the line is a running mean over this fraction of the steps; single steps are shown pale behind it


def read_training_log(path: str | os.PathLike) -> pd.DataFrame:
    """A run's log.csv, indexed by step; missing values NaN.

    Raises:
        ValueError: a column of the figure is not there, or the log has no line.
    """
    frame = pd.read_csv(path)
    missing = [name for name in ("step", *(column for column, _, _ in CURVES)) if name not in frame]
    if missing:
        raise ValueError(f"{path}: columns {missing} are missing; is it the log.csv of a training run?")
    if frame.empty:
        raise ValueError(f"{path}: no step was logged; train the questioner first")
    return frame.set_index("step")


def draw_training(logs: Mapping[str, pd.DataFrame]) -> Figure:
    """One panel per quantity, one line per run.

    Args:
        logs: name of a run (method and seed) -> its log, from :func:`read_training_log`.
    """
    figure, axes = panels(len(CURVES), COLUMNS, 1.25, sharey=False)
    looks = marks(list(logs))
    for axis, (column, title, share) in zip(axes, CURVES, strict=True):
        axis.set_title(title)
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        drawn = False
        for name, frame in logs.items():
            values = frame[column].dropna()
            if values.empty:
                continue
            drawn = True
            smooth = values.rolling(max(1, len(values) // SMOOTHED), min_periods=1).mean()
            axis.plot(values.index, values, color=looks[name]["color"], alpha=0.2, linewidth=0.6)
            axis.plot(smooth.index, smooth, color=looks[name]["color"], label=name)
        if share:
            axis.set_ylim(-0.03, 1.03)
        if not drawn:
            axis.set_yticks([])
            gap(axis, "not measured")
    figure.supxlabel("optimizer step", fontsize=8, color=MUTED)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6))
    return figure
