"""One model's cells on discovered questions: what system A measures on its bench, measured on what system B found."""

import sys
from typing import Any

from vlmdx.provenance import footer, run_job
from vlmdx.reliability import reliability_tables
from vlmdx.schema import write_table
from vlmdx.schema.tables import CELLS, SET_ASIDE


def main(snakemake: Any) -> None:
    """Write the cells, and the places of items x corruptions x severities that became none."""
    model, made = snakemake.wildcards.model, footer(snakemake)
    tables = reliability_tables(
        model, list(snakemake.input.scores), snakemake.input.questions, **snakemake.params.settings
    )
    measured, aside = tables.cells.num_rows, tables.set_aside.num_rows
    said = f"{measured + aside} cells = {measured} measured + {aside} set aside"
    print(f"{model}/{snakemake.wildcards.dataset}: {said}", file=sys.stderr)
    write_table(snakemake.output.cells, tables.cells, CELLS, made)
    write_table(snakemake.output.set_aside, tables.set_aside, SET_ASIDE, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
