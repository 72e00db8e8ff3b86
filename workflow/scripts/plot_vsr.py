"""Draw the contrasts on VSR's statements of one model by relation category and position set."""

from typing import Any

import pandas as pd
from vlmdx.mechanism.vsr_figure import draw_vsr
from vlmdx.provenance import run_job
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    settings = snakemake.params.settings
    table = pd.read_csv(snakemake.input.vsr)
    render(snakemake.output.svg, snakemake.output.png, draw_vsr, table, settings["alpha"], settings["test"])


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
