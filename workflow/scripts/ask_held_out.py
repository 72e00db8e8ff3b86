"""Ask about the held-out images with one method's questioner: what all methods are compared by."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from vlmdx.discovery.cast import open_panel, pictures_of, policy_of, read_graphs
from vlmdx.discovery.job import Job, discard
from vlmdx.discovery.memory import failed
from vlmdx.discovery.methods import ask_held_out
from vlmdx.discovery.settings import TrainSettings
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """Rollouts of the held-out phase."""
    torch.set_num_threads(snakemake.threads)
    settings, chosen = snakemake.params.settings, snakemake.wildcards
    folder = Path(snakemake.output.held_out).parent
    made = footer(snakemake)
    job = Job(chosen.method, chosen.run, int(chosen.seed), folder, snakemake.params.digest, made)
    pictures = pictures_of(snakemake.input.images, settings["images"], "held_out")
    graphs = read_graphs(snakemake.input.get("graphs"), settings["dataset"])
    name = f"held-out-{chosen.method}-{chosen.seed}"
    table = ask_held_out(
        job,
        policy_of(settings),
        open_panel(settings, graphs, folder.parents[1] / "verifier", name),
        pictures,
        TrainSettings(**settings["training"]),
        settings["prompts"]["conme"],
        _mistakes(snakemake.input.training) if chosen.method == "conme" else (),
    )
    kinds = Counter(_outcome(row) for row in table.select(["valid", "answer", "correct"]).to_pylist())
    print(f"{chosen.run}/{chosen.method}: {table.num_rows} questions: {dict(sorted(kinds.items()))}", file=sys.stderr)
    write_table(snakemake.output.held_out, table, ROLLOUTS, made)
    discard(job.asking)


def _mistakes(training: str) -> list[str]:
    return [row["question"] for row in read_table(training, ROLLOUTS).to_pylist() if failed(row)]


def _outcome(row: dict[str, Any]) -> str:
    if row["valid"] is None or (row["valid"] and row["correct"] is None):
        return "undecided"
    return "invalid" if not row["valid"] else "answered" if row["correct"] else "failed"


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
