"""Draw RAS of every model, overall and by corruption family."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.data import read_summaries
from vlmdx.report.families import draw_ras_by_family
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    models = snakemake.params.settings["models"]
    frame = read_summaries(list(snakemake.input.summaries), models)
    render(snakemake.output.svg, snakemake.output.png, draw_ras_by_family, frame, models)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
