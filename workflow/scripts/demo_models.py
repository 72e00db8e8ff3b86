"""Learning curves and accuracies of the demo models, as they are shown in docs/demo-models.md."""

from pathlib import Path

from vlmdx.demo.figure import draw_curves, table
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """One SVG and one Markdown table over all demo models."""
    names = snakemake.params.settings["models"]
    draw_curves(dict(zip(names, snakemake.input.curves, strict=False)), snakemake.output.figure)
    Path(snakemake.output.table).write_text(table(dict(zip(names, snakemake.input.accuracies, strict=False))))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
