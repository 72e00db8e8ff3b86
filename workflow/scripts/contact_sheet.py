"""Draw one image under every corruption and severity."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.report.contact_sheet import draw_contact_sheet, read_tiles
from vlmdx.report.style import render


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    image_id, tiles = read_tiles(list(snakemake.input.corrupted), snakemake.params.settings["image_id"])
    render(snakemake.output.svg, snakemake.output.png, draw_contact_sheet, image_id, tiles)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
