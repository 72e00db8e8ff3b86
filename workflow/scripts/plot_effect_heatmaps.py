"""Draw one model's mean effects as operation x layer maps."""

from typing import Any

from vlmdx.mechanism.figures import draw_heatmaps
from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    effects = read_table(snakemake.input.effects, EFFECTS).to_pandas()
    render(snakemake.output.svg, snakemake.output.png, draw_heatmaps, effects)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
