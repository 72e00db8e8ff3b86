"""Ask the answerer again without the image: a question with the same answer is no visual failure."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from typing import Any

import torch
from vlmdx.discovery.blind import asked_blind, blind_shares
from vlmdx.discovery.cast import open_answerer
from vlmdx.discovery.metrics import widen
from vlmdx.discovery.pictures import read_pictures
from vlmdx.provenance import footer, run_job
from vlmdx.schema import ContractError, atomic, read_table, write_table
from vlmdx.schema.tables import BLIND, ROLLOUTS

COLUMNS = ["method", "phase", "image_id", "question", "valid", "answer", "correct"]


def main(snakemake: Any) -> None:
    """Both answers to every valid held-out question, and the shares of each method."""
    torch.set_num_threads(snakemake.threads)
    settings, given = snakemake.params.settings, snakemake.input
    rollouts = read_table(given.rollouts, ROLLOUTS, COLUMNS, [("phase", "==", "held-out")]).to_pandas()
    pictures = {p.image_id: p for p in read_pictures(given.images, sorted(set(rollouts["image_id"])))}
    rows = asked_blind(rollouts, open_answerer(settings["answerer"], settings["device"]), pictures)
    if not rows:
        raise ContractError(f"{given.rollouts}: no valid held-out question has a verdict on its answer")
    alike = sum(row["same"] for row in rows)
    print(f"{snakemake.wildcards.run}: {len(rows)} questions asked blind, {alike} answered the same", file=sys.stderr)
    drawing = {key: settings[key] for key in ("replicates", "confidence", "seed")}
    table = widen(blind_shares(rollouts, rows, **drawing)).set_index("method").loc[settings["methods"]]
    write_table(snakemake.output.answers, rows, BLIND, footer(snakemake))
    with atomic(snakemake.output.table) as temporary:
        table.to_csv(temporary, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
