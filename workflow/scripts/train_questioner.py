"""Train one questioner by one method: GRPO, fine-tuning, or both."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import torch
from vlmdx.discovery.cast import open_panel, policy_of, read_graphs, split_images
from vlmdx.discovery.finetune import FinetuneSettings
from vlmdx.discovery.job import UNTRAINED, Job
from vlmdx.discovery.methods import train_questioner
from vlmdx.discovery.pictures import read_pictures
from vlmdx.discovery.settings import TrainSettings
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ROLLOUTS


def main(snakemake: Any) -> None:
    """Rollouts of the training; the checkpoint and the log stand beside them. A killed training goes on."""
    torch.set_num_threads(snakemake.threads)
    settings, chosen = snakemake.params.settings, snakemake.wildcards
    folder = Path(snakemake.output.training).parent
    made = footer(snakemake)
    job = Job(chosen.method, chosen.run, int(chosen.seed), folder, snakemake.params.digest, made)
    graphs = read_graphs(snakemake.input.get("graphs"), snakemake.params.settings["dataset"])
    known = read_table(snakemake.input.images, IMAGES, columns=["image_id"])["image_id"].to_pylist()
    images = settings["images"]
    train, _ = split_images(known, images["train"], images["held_out"], images["seed"])
    panel = open_panel(settings, graphs, folder.parents[1] / "verifier")
    table = train_questioner(
        job,
        policy_of(settings),
        panel,
        read_pictures(snakemake.input.images, train),
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


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
