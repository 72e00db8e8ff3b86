"""Draw Cohen's d of one model's peak effects as a forest plot."""

from typing import Any

import pandas as pd
from vlmdx.mechanism.figures import draw_forest
from vlmdx.provenance import run_job
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    settings = snakemake.params.settings
    pathways = pd.read_csv(snakemake.input.pathways)
    render(snakemake.output.svg, snakemake.output.png, draw_forest, pathways, settings["alpha"], settings["test"])


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
