"""Tell the skills that all answerers fail from those that one of them fails."""

from typing import Any

import pandas as pd
from vlmdx.discovery.failure_modes import shared_skills
from vlmdx.provenance import run_job
from vlmdx.schema import atomic


def main(snakemake: Any) -> None:
    """One row per skill and run."""
    runs = snakemake.params.settings["runs"]
    modes = {run: pd.read_csv(path) for run, path in zip(runs, snakemake.input.failure_modes, strict=True)}
    with atomic(snakemake.output[0]) as temporary:
        shared_skills(modes).to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
