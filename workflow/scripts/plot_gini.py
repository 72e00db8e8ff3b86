"""Draw the Gini impurity of the pool and of the items selected from it."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.gini import draw_gini
from vlmdx.report.style import render
from vlmdx.schema import read_table
from vlmdx.schema.tables import GINI, SELECTION


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    gini = read_table(snakemake.input.gini, GINI).to_pandas()
    selection = read_table(snakemake.input.selection, SELECTION).to_pandas()
    render(snakemake.output.svg, snakemake.output.png, draw_gini, gini, selection)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
