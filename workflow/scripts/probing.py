"""Accuracy of one model's probes by operation and layer, and the gap between sensitive and insensitive pairs."""

from typing import Any

import pyarrow as pa
from vlmdx.mechanism.probing import gaps
from vlmdx.mechanism.tables import PROBES
from vlmdx.provenance import run_job
from vlmdx.schema import atomic, read_table


def main(snakemake: Any) -> None:
    """Write the model's rows."""
    settings, model = snakemake.params.settings, snakemake.wildcards.model
    probes = pa.concat_tables([read_table(path, PROBES) for path in snakemake.input.probes]).to_pandas()
    if probes.empty:
        operations = ", ".join(settings["operations"])
        raise ValueError(f"{model}: no operation of {operations} has word pairs; see the tables unpaired and unprobed")
    keys = ("valid", "resamples", "confidence", "seed")
    table = gaps(probes, **{key: settings[key] for key in keys})
    table.insert(0, "model", model)
    with atomic(snakemake.output[0]) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
