"""Grade a run's rollouts under other reward settings, from their stored verdicts: nothing is trained or asked."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from typing import Any

import pyarrow.compute as pc
import torch
from vlmdx.discovery.embedder import Embedder
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.rollouts import recompute
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """The same rows with other reward terms."""
    torch.set_num_threads(snakemake.threads)
    settings, chosen = snakemake.params.settings, snakemake.wildcards
    before = read_table(snakemake.input.rollouts, ROLLOUTS)
    after = recompute(before, RewardSettings(**settings["reward"]), Embedder(**settings["encoder"]))
    means = [pc.mean(table["reward"]).as_py() for table in (before, after)]
    said = f"{after.num_rows} rewards, mean {means[0]:.4f} in the run, {means[1]:.4f} here"
    print(f"{chosen.run}, {chosen.reward}: {said}", file=sys.stderr)
    write_table(snakemake.output[0], after, ROLLOUTS, footer(snakemake))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
