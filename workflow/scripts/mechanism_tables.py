"""The mechanism tables of all models: failure modes in the layout of the paper's Table 3, the same under other
thresholds, pathways and probing.
"""

from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.schema import atomic


def main(snakemake: Any) -> None:
    """Concatenate the models' rows, in the order of the config."""
    for name in ("failure_modes", "sensitivity", "pathways", "sampling", "probing"):
        frame = pd.concat([pd.read_csv(path, dtype=str, keep_default_na=False) for path in snakemake.input[name]])
        with atomic(snakemake.output[name]) as temporary:
            frame.to_csv(temporary, index=False)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
