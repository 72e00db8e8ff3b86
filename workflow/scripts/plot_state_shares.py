"""Draw the shares of the four correctness states over severity."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.data import read_summaries
from vlmdx.report.severities import draw_state_shares
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    models = snakemake.params.settings["models"]
    frame = read_summaries(list(snakemake.input.summaries), models)
    render(snakemake.output.svg, snakemake.output.png, draw_state_shares, frame, models)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
