"""Figure of the probes: accuracy by layer, operation by operation."""

import pandas as pd
from matplotlib.figure import Figure

from vlmdx.mechanism.figures import RANDOM, RIGHT, WIDTH, WRONG

LINES = {
    "sensitive": (RIGHT, "-", "vision-sensitive pairs"),
    "insensitive": (WRONG, "-", "vision-insensitive pairs"),
    "reworded": (RANDOM, "--", "the same, reworded counts as changed"),
}
ACROSS = 4  # panels side by side


def draw_probing(probing: pd.DataFrame) -> Figure:
    """Accuracy of the probes by layer; a circle marks the best layer, the title tells its gap.

    Args:
        probing: one model's rows of probing.csv.
    """
    operations = sorted(probing["operation"].unique())
    across = min(ACROSS, len(operations))
    down = -(-len(operations) // across)
    figure = Figure(figsize=(WIDTH, 1.75 * down + 0.6), layout="constrained")
    axes = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat)
    for axis in axes[len(operations) :]:
        axis.set_axis_off()
    for axis, operation in zip(axes, operations, strict=False):
        rows = probing[probing["operation"] == operation].sort_values("layer")
        for kind, (colour, line, label) in LINES.items():
            axis.plot(rows["layer"], 100 * rows[f"accuracy_{kind}"], line, color=colour, label=label)
        first = rows.iloc[0]
        best = rows[rows["layer"] == first["best_layer"]].iloc[0]
        axis.plot(
            best["layer"], 100 * best["accuracy_sensitive"], "o", color=RIGHT, markersize=6, markerfacecolor="none"
        )
        axis.axhline(50, color=RANDOM, linewidth=0.5)
        verdict = "valid" if first["valid"] else "not valid"
        axis.set_title(
            f"{operation} (n = {first['pairs']})\ngap {100 * first['best_gap']:+.0f} points, {verdict}", fontsize=7.5
        )
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.xaxis.set_tick_params(labelbottom=True)
    figure.supxlabel("layer", fontsize=8)
    figure.supylabel("accuracy of the probe, %", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure
