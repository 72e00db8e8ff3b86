"""One table of everything that a run has asked, in training and on held-out images."""

import sys
from typing import Any

import pyarrow as pa
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """Join the parts; the contract's key refuses a part that comes twice."""
    table = pa.concat_tables([read_table(path, ROLLOUTS) for path in snakemake.input.parts])
    print(
        f"{snakemake.wildcards.run}: {table.num_rows} questions in {len(snakemake.input.parts)} parts", file=sys.stderr
    )
    write_table(snakemake.output.rollouts, table, ROLLOUTS, footer(snakemake))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
