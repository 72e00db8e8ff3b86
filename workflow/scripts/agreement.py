"""Ask a second verifier about the same held-out questions, and how far the two agree."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path
from typing import Any

import torch
from vlmdx.discovery.agreement import agreement, second_opinions
from vlmdx.discovery.cast import open_verifier, read_graphs
from vlmdx.discovery.pictures import read_pictures
from vlmdx.provenance import footer, run_job
from vlmdx.schema import ContractError, atomic, read_table, write_table
from vlmdx.schema.tables import ROLLOUTS, SECOND

COLUMNS = ["phase", "image_id", "question", "valid", "criterion", "answer", "correct"]


def main(snakemake: Any) -> None:
    """Both verdicts on every held-out question, and Cohen's kappa of them."""
    torch.set_num_threads(snakemake.threads)
    settings, given = snakemake.params.settings, snakemake.input
    rollouts = read_table(given.rollouts, ROLLOUTS, COLUMNS, [("phase", "==", "held-out")]).to_pandas()
    pictures = {p.image_id: p for p in read_pictures(given.images, sorted(set(rollouts["image_id"])))}
    prompts, cache = settings["prompts"], Path(snakemake.output.table).parent / "second_verifier"
    verifier = open_verifier(
        settings["verifier"],
        prompts,
        read_graphs(given.get("graphs"), settings["dataset"]),
        settings["device"],
        cache,
        "agreement",
    )
    rows = second_opinions(rollouts, verifier, pictures, [prompts["questioner"], prompts["conme"]])
    if not rows:
        raise ContractError(
            f"{given.rollouts}: no held-out question passed the screen; there is nothing to judge twice"
        )
    drawing = {key: settings[key] for key in ("replicates", "confidence", "seed")}
    table = agreement(rows, **drawing)
    print(f"{snakemake.wildcards.run}: {len(rows)} questions judged twice\n{table.to_string()}", file=sys.stderr)
    write_table(snakemake.output.verdicts, rows, SECOND, footer(snakemake))
    with atomic(snakemake.output.table) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
