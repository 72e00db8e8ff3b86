"""Compare the methods of every run by what they reached on held-out images."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

from typing import Any

import pandas as pd
import torch
from tqdm import tqdm
from vlmdx.discovery.embedder import Embedder
from vlmdx.discovery.metrics import fdr_rows
from vlmdx.provenance import run_job
from vlmdx.schema import ContractError, atomic, read_table
from vlmdx.schema.tables import ROLLOUTS, SKILLS

COLUMNS = ["method", "seed", "image_id", "question", "valid", "answer", "correct"]
DRAWING = ("replicates", "confidence", "seed")


def main(snakemake: Any) -> None:
    """One row per run and method."""
    torch.set_num_threads(snakemake.threads)
    settings, given = snakemake.params.settings, snakemake.input
    embed, tables = Embedder(**settings["encoder"]), []
    drawing = {key: settings[key] for key in DRAWING}
    for run, rollouts, path in tqdm(
        list(zip(settings["runs"], given.rollouts, given.skills, strict=True)), desc="runs"
    ):
        rows = read_table(rollouts, ROLLOUTS, COLUMNS, [("phase", "==", "held-out")]).to_pandas()
        skills = {(r["image_id"], r["question"]): r["skills"] for r in read_table(path, SKILLS).to_pylist()}
        try:
            table = fdr_rows(rows, skills, embed, settings["methods"], **drawing)
        except ValueError as error:
            raise ContractError(f"{rollouts}: {error}") from error
        table.insert(0, "run", run)
        tables.append(table)
    with atomic(snakemake.output[0]) as temporary:
        pd.concat(tables).to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
