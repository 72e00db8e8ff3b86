"""What a model cannot do, how that holds under corruption, and what inside the model carries it: one table.

Rows are a run's failure modes (system B), columns what the three systems say of each model on exactly these questions.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vlmdx.mechanism.contrast import peaks
from vlmdx.report.style import MUTED, PALETTE, WIDTH
from vlmdx.stats import cluster_bootstrap, null_if_nan

EVERYTHING = "all discovered questions"
SUFFIX = 9  # of an item id: "-" and eight hexadecimal digits, after the image's id
# (intervention, position) -> what is lost where it hurts most (arXiv 2607.16094, section 4)
PATHWAYS = {
    ("mean_ablation", "object"): "object tokens",
    ("attention_knockout", "answer"): "attention to the object",
    ("mlp_knockout", "object"): "MLP at the object",
    ("mlp_knockout", "answer"): "MLP at the answer",
}


def joint_rows(
    run: str,
    model: str,
    items: pd.DataFrame,
    skills: Mapping[tuple[str, str], Sequence[str]],
    modes: Sequence[str],
    transfer: pd.DataFrame,
    cells: pd.DataFrame,
    effects: pd.DataFrame,
    *,
    replicates: int,
    confidence: float,
    seed: int,
) -> list[dict]:
    """Rows of one run and model: all discovered questions, then each failure mode that has any.

    Args:
        items: ``item_id, question`` of the data set of discovered questions.
        skills: of a question, by (image id, question).
        modes: names of failure modes, skills joined by " + ".
        transfer: rows of TRANSFER of this run and model.
        cells: rows of CELLS of this model on the data set.
        effects: rows of EFFECTS of this model on the data set.
        replicates, confidence, seed: of the bootstrap of RAS, clustered by image.

    Returns:
        ``questions`` and ``failed`` (share, asked in words); ``accuracy``, ``accuracy_corrupted`` (by letter), ``ras``
        with its interval, ``silent``: share of the cells right on both sides whose RAS is negative (silent
        degradation); ``dissected`` and the mean peak effect of each pathway, nats; ``pathway``, the largest of them.
        None where nothing supports a value.
    """
    # Item ids are "{data set}:{image id}-{8 digits}", the image id as in the rollouts.
    items = items.assign(image=items["item_id"].str.partition(":")[2].str[:-SUFFIX])
    needs = [frozenset(skills.get((i, q), ())) for i, q in zip(items["image"], items["question"], strict=True)]
    best = peaks(effects) if len(effects) else effects
    rows = []
    for mode in [EVERYTHING, *modes]:
        wanted = frozenset() if mode == EVERYTHING else frozenset(mode.split(" + "))
        chosen = items[[wanted <= need for need in needs]]
        if chosen.empty:
            continue
        asked = transfer.merge(chosen, left_on=["image_id", "question"], right_on=["image", "question"])
        own = cells[cells["item_id"].isin(chosen["item_id"])]
        row = {"run": run, "model": model, "mode": mode, "questions": len(chosen)}
        row["failed"] = _mean(asked.loc[asked["correct"].notna(), "correct"] == False)  # noqa: E712
        rows.append(
            {**row, **_reliability(own, replicates, confidence, seed), **_pathway(best, set(chosen["item_id"]))}
        )
    return rows


def _mean(values: pd.Series) -> float | None:
    return float(values.astype(float).mean()) if len(values) else None


def _reliability(cells: pd.DataFrame, replicates: int, confidence: float, seed: int) -> dict:
    names = ["accuracy", "accuracy_corrupted", "ras", "ras_low", "ras_high", "silent"]
    if cells.empty:
        return dict.fromkeys(names)
    interval = cluster_bootstrap(
        cells["image_id"], cells["ras"], replicates=replicates, confidence=confidence, seed=seed
    )
    right = cells[cells["state"] == "cc"]
    ends = (null_if_nan(float(end[0])) for end in interval)
    values = [_mean(cells["correct_clean"]), _mean(cells["correct"]), *ends, _mean(right["ras"] < 0)]
    return dict(zip(names, values, strict=True))


def _pathway(best: pd.DataFrame, items: set[str]) -> dict:
    own = best[best["item_id"].isin(items)] if len(best) else best
    found: dict = {"dissected": int(own["item_id"].nunique()) if len(own) else 0}
    for (intervention, position), name in PATHWAYS.items():
        same = (own["intervention"] == intervention) & (own["position"] == position) if len(own) else []
        found[name] = _mean(own.loc[same, "peak"]) if len(own) else None
    known = {name: found[name] for name in PATHWAYS.values() if found[name] is not None}
    return {**found, "pathway": max(known, key=lambda name: known[name]) if known else None}


def draw_joint(table: pd.DataFrame) -> Figure:
    """Per model: each failure mode's rate, its RAS with interval, and the mean peak effect of the four pathways.

    Args:
        table: the joint table.
    """
    models = list(dict.fromkeys(table["model"]))
    labels = list(dict.fromkeys(_labels(table)))
    names = [fill(label, 36) for label in labels]
    height = 1.1 + sum(0.12 + 0.12 * len(name.splitlines()) for name in names)
    figure = Figure(figsize=(1.3 * WIDTH, height * len(models)), layout="constrained")
    axes = figure.subplots(len(models), 3, squeeze=False, sharey=True, width_ratios=(1, 1.1, 1.8))
    largest = table[list(PATHWAYS.values())].astype(float).max(axis=None)
    limit = largest if largest > 0 else 1.0  # NaN where no discovered question could be dissected
    for line, model in zip(axes, models, strict=True):
        own = table[table["model"] == model].assign(label=_labels(table)).set_index("label").reindex(labels)
        at = np.arange(len(labels))
        line[0].barh(at, own["failed"].astype(float), color=PALETTE[0], height=0.6)
        line[0].set(xlim=(0, 1), xlabel="share failed,\nin words")
        line[0].set_yticks(at, names)
        line[0].invert_yaxis()
        line[0].set_title(model)
        ras = own[["ras", "ras_low", "ras_high"]].astype(float)
        line[1].hlines(at, ras["ras_low"], ras["ras_high"], color=PALETTE[1], linewidth=1.6)
        line[1].plot(ras["ras"], at, "o", color=PALETTE[1])
        line[1].axvline(0, color=MUTED, linewidth=0.8)
        line[1].set_xlabel("RAS under\ncorruption")
        effects = own[list(PATHWAYS.values())].astype(float).to_numpy()
        shown = line[2].imshow(effects, aspect="auto", cmap="viridis", vmin=0, vmax=limit)
        line[2].set_xticks(range(len(PATHWAYS)), [fill(name, 9) for name in PATHWAYS.values()])
        line[2].grid(visible=False)
        for y, x in zip(*np.nonzero(~np.isnan(effects)), strict=True):
            colour = "white" if effects[y, x] < 0.6 * limit else "black"
            line[2].text(x, y, f"{effects[y, x]:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
    figure.colorbar(mpl.cm.ScalarMappable(shown.norm, shown.cmap), ax=axes[:, 2], label="mean peak effect, nats")
    return figure


def _labels(table: pd.DataFrame) -> pd.Series:
    return table["run"] + ": " + table["mode"]
