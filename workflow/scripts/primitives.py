"""Name the elementary abilities that each valid question of a run needs."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path
from typing import Any

import torch
from vlmdx.discovery.cast import open_verifier, read_graphs
from vlmdx.discovery.pictures import read_pictures
from vlmdx.discovery.primitives import question_primitives
from vlmdx.provenance import footer, run_job
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import PRIMITIVES, ROLLOUTS


def main(snakemake: Any) -> None:
    """One row per distinct valid question; what the verifier gave no primitives for is set aside with the reason."""
    torch.set_num_threads(snakemake.threads)
    settings, run = snakemake.params.settings, snakemake.wildcards.run
    columns, valid = ["image_id", "question"], [("valid", "==", True)]
    rows = read_table(snakemake.input.rollouts, ROLLOUTS, columns, valid).to_pylist()
    if not rows:
        raise ContractError(f"{snakemake.input.rollouts}: no question of {run} was valid; nothing can be classified")
    questions = {(row["image_id"], row["question"]) for row in rows}
    graphs = read_graphs(snakemake.input.get("graphs"), snakemake.params.settings["dataset"])
    cache = Path(snakemake.output[0]).parent / "verifier"
    verifier = open_verifier(settings["verifier"], settings["prompts"], graphs, settings["device"], cache, "primitives")
    pictures = {}
    if settings["verifier"]["kind"] != "oracle":
        pictures = {p.image_id: p for p in read_pictures(snakemake.input.images, sorted({i for i, _ in questions}))}
    found = question_primitives(
        verifier, settings["prompts"]["primitives"], questions, lambda image_id: pictures[image_id].image
    )
    aside = sum(row["primitives"] is None for row in found)
    said = f"{len(rows)} valid questions, {len(found)} distinct = {len(found) - aside} used + {aside} set aside"
    print(f"{run}: {said}", file=sys.stderr)
    if aside == len(found):
        raise ContractError(f"{run}: the verifier named no primitives for any question; first: {found[0]['reason']}")
    write_table(snakemake.output[0], found, PRIMITIVES, footer(snakemake))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
