"""Draw a run's taxonomy as a sunburst, and write it as a page to walk through."""

import json
from pathlib import Path
from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.report.taxonomy import draw_sunburst, page
from vlmdx.schema import atomic


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG, and the page."""
    report = json.loads(Path(snakemake.input.taxonomy).read_text(encoding="utf-8"))
    render(snakemake.output.svg, snakemake.output.png, draw_sunburst, report)
    with atomic(snakemake.output.page) as temporary:
        temporary.write_text(page(report), encoding="utf-8")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
