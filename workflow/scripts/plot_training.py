"""Draw the curves of a run's trainings by reinforcement learning."""

from pathlib import Path
from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.report.training import draw_training, read_training_log


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    logs = {}
    for history in map(Path, snakemake.input.histories):
        method, seed = history.parts[-3:-1]
        logs[f"{method}, seed {seed}"] = read_training_log(history / "log.csv")
    render(snakemake.output.svg, snakemake.output.png, draw_training, logs)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
