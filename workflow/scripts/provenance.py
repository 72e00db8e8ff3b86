"""Gather the records of all jobs into the ledger, one row per artifact."""

import sys
from typing import Any

from vlmdx.audit.run import write_ledger
from vlmdx.provenance import footer, run_job


def main(snakemake: Any) -> None:
    """Write ``results/provenance.parquet``."""
    rows = write_ledger(snakemake.output[0], footer(snakemake))
    print(f"{rows} artifacts in the ledger", file=sys.stderr)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
