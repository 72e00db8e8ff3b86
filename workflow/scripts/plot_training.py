"""Draw the curves of a run's trainings by reinforcement learning."""

from pathlib import Path
from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.report.training import draw_training, read_training_log


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG; each log stands beside the rollouts of its training."""
    logs = {}
    for path in map(Path, snakemake.input.training):
        method, seed = path.parts[-3:-1]
        logs[f"{method}, seed {seed}"] = read_training_log(path.parent / "training" / "log.csv")
    render(snakemake.output.svg, snakemake.output.png, draw_training, logs)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
