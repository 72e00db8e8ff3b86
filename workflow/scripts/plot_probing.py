"""Draw the accuracy of one model's probes by layer."""

from typing import Any

import pandas as pd
from vlmdx.mechanism.probing_figure import draw_probing
from vlmdx.provenance import run_job
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    render(snakemake.output.svg, snakemake.output.png, draw_probing, pd.read_csv(snakemake.input.probing))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
