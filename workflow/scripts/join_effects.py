"""One model's effects of all operations in one table and one file of tensors."""

from typing import Any

import pyarrow as pa
from vlmdx.mechanism.artifacts import join_tensors
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import EFFECTS, REJECTED


def main(snakemake: Any) -> None:
    """Concatenate tables; tensors get their operation in front of their name."""
    made, operations = footer(snakemake), snakemake.params.settings["operations"]
    for name, contract in (("effects", EFFECTS), ("control", EFFECTS), ("rejected", REJECTED)):
        tables = [read_table(path, contract) for path in snakemake.input[name]]
        write_table(snakemake.output[name], pa.concat_tables(tables), contract, made)
    named = dict(zip(operations, snakemake.input.tensors, strict=True))
    join_tensors(snakemake.output.tensors, named, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
