"""The page about the demo models: learning curves as one SVG, accuracies as one Markdown table."""

import csv
import itertools
import os
from pathlib import Path

GROUPS = ("four options", "yes/no", "select", "relate", "verify", "exist", "query", "choose", "filter")
CHANCE = 0.43  # mean of 1 / options over held-out questions (evaluate.report prints it), drawn as a dotted line


def read_rows(file: str | Path) -> list[dict[str, str]]:
    with Path(file).open(newline="") as lines:
        return list(csv.DictReader(lines))


def write_rows(file: str | Path, rows: list[dict]) -> None:
    """Rows as CSV, under a temporary name first."""
    file = Path(file)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    with new.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    new.replace(file)


def draw_curves(curves: dict[str, str | Path], file: str | Path) -> None:
    """One panel per model: held-out accuracy by letter and in words over training steps; stages as vertical lines."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "vlmdx"  # same curves, same bytes
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(
        1, len(curves), figsize=(4.6 * len(curves), 3.2), sharey=True, layout="constrained", squeeze=False
    )
    for panel, (name, curve) in zip(panels[0], curves.items(), strict=False):
        rows = read_rows(curve)
        asked = [r for r in rows if r.get("accuracy_letter")]
        for mode, label, color in (("letter", "by letter", "#0072B2"), ("text", "in words", "#D55E00")):
            panel.plot(
                [int(r["step"]) for r in asked], [float(r[f"accuracy_{mode}"]) for r in asked], color=color, label=label
            )
        for before, after in itertools.pairwise(rows):
            if before["stage"] != after["stage"]:
                panel.axvline(int(before["step"]), color="0.8", linewidth=1)
        panel.axhline(CHANCE, color="0.5", linestyle=":", linewidth=1, label="chance by letter")
        panel.set(title=name, xlabel="training step", ylim=(0, 1), xlim=(0, int(rows[-1]["step"])))
    panels[0][0].set_ylabel("held-out accuracy")
    panels[0][0].legend(loc="lower right", frameon=False)
    file = Path(file)
    new = file.with_name(f".{os.getpid()}.{file.name}")
    figure.savefig(new, metadata={"Date": None})
    plt.close(figure)
    new.replace(file)


def table(accuracies: dict[str, str | Path]) -> str:
    """Markdown, accuracies in per cent: a line per read-out, corruption and group of questions, a column per model."""
    rows = {name: read_rows(file) for name, file in accuracies.items()}
    lines = [
        "| read-out | images | questions | " + " | ".join(rows) + " | chance |",
        "|---|---|---|" + "---:|" * (len(rows) + 1),
    ]

    def line(mode: str, corruption: str, group: str) -> str:
        cells, chance = [], ""
        for found in rows.values():
            match = [r for r in found if (r["mode"], r["corruption"], r["group"]) == (mode, corruption, group)]
            cells.append(f"{100 * float(match[0]['accuracy']):.1f}")
            chance = f"{100 * float(match[0]['chance']):.1f}" if mode == "letter" else ""
            size = match[0]["questions"]
        image = corruption if corruption == "clean" else f"{corruption} 5"
        return f"| {mode} | {image} | {group} ({size}) | " + " | ".join(cells) + f" | {chance} |"

    corruptions = list(dict.fromkeys(r["corruption"] for r in next(iter(rows.values())) if r["mode"] == "letter"))
    lines += [line("letter", c, "all") for c in corruptions]
    lines += [line("letter", "clean", g) for g in GROUPS]
    lines += [line("text", "clean", "all")]
    return "\n".join(lines) + "\n"
