"""Draw the joint table."""

from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.report.joint import draw_joint
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """SVG and PNG."""
    render(snakemake.output.svg, snakemake.output.png, draw_joint, pd.read_csv(snakemake.input.table))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
