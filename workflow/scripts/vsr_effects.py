"""The effects of all interventions in all layers of one model on VSR's statements: subject, object and both."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: jobs never download

import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from vlmdx.mechanism.artifacts import account, save_tensors
from vlmdx.mechanism.run import run
from vlmdx.mechanism.tables import VSR_EFFECTS
from vlmdx.mechanism.vsr import statements, vsr_effects, vsr_set_aside, whole
from vlmdx.models.load import load
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")
RUN_KEYS = ("template", "rule", "engine", "batch_tokens", "window", "controls", "seed")


def main(snakemake: Any) -> None:
    """Load the model once; write effects, controls, tensors and what is set aside."""
    torch.set_num_threads(snakemake.threads)
    settings = snakemake.params.settings
    items = read_table(snakemake.input.questions, ITEMS).to_pylist()
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    asked, aside = statements(items)
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    folder = Path(snakemake.output.effects).parent
    parts = folder / f".parts-{snakemake.params.digest[:16]}"
    found = whole(run(adapter, asked, images, parts, **{key: settings[key] for key in RUN_KEYS}))
    line = f"{account(found, len(asked), 'statements x position sets')}; {len(aside)} statements set aside before"
    print(f"{snakemake.wildcards.model}/{line}", file=sys.stderr)
    made = footer(snakemake, mechanism={"adapter": adapter.describe(), "account": line})
    write_table(snakemake.output.effects, vsr_effects(found, items, "object"), VSR_EFFECTS, made)
    write_table(snakemake.output.control, vsr_effects(found, items, "random"), VSR_EFFECTS, made)
    write_table(snakemake.output.rejected, vsr_set_aside(found, aside), REJECTED, made)
    save_tensors(snakemake.output.tensors, found, made)
    for stale in folder.glob(".parts-*"):
        shutil.rmtree(stale, ignore_errors=True)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
