"""Draw RAS of every corruption at every severity."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.data import read_mean_ras
from vlmdx.report.heatmap import draw_corruption_heatmap
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    ras = read_mean_ras(list(snakemake.input.cells))
    models = snakemake.params.settings["models"]
    render(snakemake.output.svg, snakemake.output.png, draw_corruption_heatmap, ras, models)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
