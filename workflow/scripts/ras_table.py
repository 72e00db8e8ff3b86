"""Gather all models into results/ras_table.csv, the same by severity and by corruption, and the letter preference."""

from typing import Any

from vlmdx.provenance import run_job
from vlmdx.reliability import result_tables, write_csv


def main(snakemake: Any) -> None:
    """Write the four CSV files."""
    settings = snakemake.params.settings
    tables = result_tables(
        list(snakemake.input.summaries), list(snakemake.input.positions), settings["models"], settings["families"]
    )
    for name, rows in tables._asdict().items():
        write_csv(snakemake.output[name], rows)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
