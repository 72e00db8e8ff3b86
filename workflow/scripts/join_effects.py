"""One model's effects of all operations in one table and one file of tensors."""

from typing import Any

import pyarrow as pa
from safetensors import safe_open
from safetensors.torch import save_file
from vlmdx.provenance import footer, run_job
from vlmdx.schema import atomic, read_table, write_table
from vlmdx.schema.tables import EFFECTS, REJECTED


def main(snakemake: Any) -> None:
    """Concatenate tables; tensors get their operation in front of their name."""
    made, operations = footer(snakemake), snakemake.params.settings["operations"]
    for name, contract in (("effects", EFFECTS), ("control", EFFECTS), ("rejected", REJECTED)):
        tables = [read_table(path, contract) for path in snakemake.input[name]]
        write_table(snakemake.output[name], pa.concat_tables(tables), contract, made)
    tensors, samples = {}, {}
    for operation, path in zip(operations, snakemake.input.tensors, strict=True):
        with safe_open(path, "pt") as file:
            for key in file.keys():  # noqa: SIM118 -- a safetensors file is no mapping
                tensors[f"{operation}.{key}"] = file.get_tensor(key)
                samples[f"{operation}.{key}"] = file.metadata()[key]
    with atomic(snakemake.output.tensors) as temporary:
        save_file(tensors, temporary, metadata=samples)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
