"""Score one model on one shard of image versions: one row per option of each item and (corruption, severity)."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path

import torch
from vlmdx.models.load import load
from vlmdx.provenance import footer, run_job
from vlmdx.scoring.shard import score_shard

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")


def main(snakemake) -> None:
    """Load the model once, score the shard's cells, write the score table."""
    torch.set_num_threads(snakemake.threads)
    settings = snakemake.params.settings
    selection = snakemake.input.get("selection")
    line = score_shard(
        load(**{key: settings[key] for key in MODEL_KEYS}),
        items=Path(snakemake.input.questions),
        corrupted=Path(snakemake.input.corrupted),
        output=Path(snakemake.output[0]),
        readout=settings["readout"],
        template=settings["template"],
        batch_tokens=settings["batch_tokens"],
        digest=snakemake.params.digest,
        provenance=footer(snakemake),
        selection=Path(selection) if selection else None,
    )
    print(f"{snakemake.wildcards.model}/{snakemake.wildcards.itemset}/{line}", file=sys.stderr)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
