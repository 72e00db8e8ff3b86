"""Which models fail at which run's discovered questions."""

import sys
from typing import Any

import pyarrow as pa
from vlmdx.discovery.transfer import transfer_table
from vlmdx.provenance import run_job
from vlmdx.schema import atomic, read_table
from vlmdx.schema.tables import TRANSFER


def main(snakemake: Any) -> None:
    """One row per run and model."""
    rows = pa.concat_tables([read_table(path, TRANSFER) for path in snakemake.input.answers]).to_pandas()
    table = transfer_table(rows, **snakemake.params.settings)
    print(table.to_string(index=False), file=sys.stderr)
    with atomic(snakemake.output.table) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
