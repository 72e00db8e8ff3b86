"""Draw when each skill was first exploited in the trainings of a run."""

from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.report.discovery import draw_curriculum
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    frame, methods = pd.read_csv(snakemake.input.curriculum), snakemake.params.settings["methods"]
    render(snakemake.output.svg, snakemake.output.png, draw_curriculum, frame, methods)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
