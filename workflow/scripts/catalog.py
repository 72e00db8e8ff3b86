"""Write the DuckDB views over all tables of the run."""

from pathlib import Path
from typing import Any

from vlmdx.audit.run import write_catalog
from vlmdx.provenance import run_job


def main(snakemake: Any) -> None:
    """Write ``results/catalog.sql``."""
    write_catalog(Path(snakemake.params.root), snakemake.output[0])


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
