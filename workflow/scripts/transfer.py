"""Ask one model the questions that a run discovered: do they make it fail as well?"""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path
from typing import Any

import torch
from vlmdx.discovery.cast import open_answerer, open_verifier, read_graphs
from vlmdx.discovery.export import distinct_failures
from vlmdx.discovery.pictures import read_pictures
from vlmdx.discovery.transfer import transfer
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ROLLOUTS, TRANSFER


def main(snakemake: Any) -> None:
    """One row per discovered question."""
    torch.set_num_threads(snakemake.threads)
    settings, chosen = snakemake.params.settings, snakemake.wildcards
    rows = read_table(snakemake.input.rollouts, ROLLOUTS, filters=[("phase", "=", "held-out")]).to_pylist()
    failures = [group[0] for group in distinct_failures(rows)]
    cache = Path(snakemake.output.answers).parents[1] / "verifier"
    found = transfer(
        failures,
        read_pictures(snakemake.input.images, sorted({row["image_id"] for row in failures})),
        open_answerer(settings["model"], settings["device"]),
        open_verifier(
            settings["verifier"],
            settings["prompts"],
            read_graphs(snakemake.input.get("graphs"), snakemake.params.settings["dataset"]),
            settings["device"],
            cache,
            f"transfer-{chosen.model}",
        ),
        run=chosen.run,
        model=chosen.model,
    )
    failed = sum(row["correct"] is False for row in found)
    undecided = sum(row["correct"] is None for row in found)
    said = f"{failed} failed + {len(found) - failed - undecided} right + {undecided} undecided"
    print(f"{chosen.run} asked of {chosen.model}: {len(found)} questions = {said}", file=sys.stderr)
    write_table(snakemake.output.answers, found, TRANSFER, footer(snakemake))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
