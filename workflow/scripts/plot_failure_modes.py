"""Draw the failure rate of every tested skill of a run."""

from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.report.discovery import draw_failure_modes
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    frame = pd.read_csv(snakemake.input.failure_modes)
    render(snakemake.output.svg, snakemake.output.png, draw_failure_modes, frame)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
