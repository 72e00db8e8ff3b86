"""The contrasts on VSR's statements of all models in one table."""

from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.schema import atomic


def main(snakemake: Any) -> None:
    """Concatenate the models' rows, in the order of the config."""
    frame = pd.concat([pd.read_csv(path, dtype=str, keep_default_na=False) for path in snakemake.input])
    with atomic(snakemake.output[0]) as temporary:
        frame.to_csv(temporary, index=False)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
