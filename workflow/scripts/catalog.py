"""Write the DuckDB views over all tables of the run."""

from typing import Any

from vlmdx.audit.run import write_catalog
from vlmdx.provenance import run_job
from vlmdx.provenance.code import PACKAGE


def main(snakemake: Any) -> None:
    """Write ``results/catalog.sql``."""
    write_catalog(PACKAGE.parents[1], snakemake.output[0])


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
