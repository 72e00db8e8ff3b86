"""Train one questioner by one method: GRPO, fine-tuning, or both."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import torch
from vlmdx.discovery.cast import open_panel, pictures_of, policy_of, read_graphs
from vlmdx.discovery.finetune import FinetuneSettings
from vlmdx.discovery.job import UNTRAINED, Job
from vlmdx.discovery.methods import train_questioner
from vlmdx.discovery.settings import TrainSettings
from vlmdx.provenance import footer, run_job
from vlmdx.schema import write_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """Rollouts of the training, the checkpoint, and the logs. A killed training goes on."""
    torch.set_num_threads(snakemake.threads)
    settings, chosen = snakemake.params.settings, snakemake.wildcards
    folder = Path(snakemake.output.training).parent
    made = footer(snakemake)
    job = Job(chosen.method, chosen.run, int(chosen.seed), folder, snakemake.params.digest, made)
    pictures = pictures_of(snakemake.input.images, settings["images"], "train")
    graphs = read_graphs(snakemake.input.get("graphs"), settings["dataset"])
    name = f"train-{chosen.method}-{chosen.seed}"
    table = train_questioner(
        job,
        policy_of(settings),
        open_panel(settings, graphs, folder.parents[1] / "verifier", name),
        pictures,
        TrainSettings(**settings["training"]),
        FinetuneSettings(**settings["finetuning"]),
    )
    if chosen.method in UNTRAINED:  # the rule promises the folder; what asks is the questioner as it was
        job.checkpoint.mkdir(exist_ok=True)
        (job.checkpoint / "untrained.txt").write_text(f"{settings['questioner']['source']}, as it is\n")
    failed = pc.sum(pc.and_(table["valid"], pc.invert(table["correct"]))).as_py() or 0
    said = f"{table.num_rows} questions, {failed} of them valid and failed"
    print(f"{chosen.run}/{chosen.method}/{chosen.seed}: {said}", file=sys.stderr)
    write_table(snakemake.output.training, table, ROLLOUTS, made)
    job.settle(Path(snakemake.output.history))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
