"""The effects of all interventions in all layers of one model on one operation's questions."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from vlmdx.mechanism.artifacts import account, effects_table, save_tensors, set_aside
from vlmdx.mechanism.asked import as_dissected, ask_all, undrawn
from vlmdx.mechanism.draw import draw
from vlmdx.mechanism.run import run
from vlmdx.mechanism.tables import ASKED
from vlmdx.models.load import load
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import EFFECTS, IMAGES, ITEMS, REJECTED

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")
ASK_KEYS = ("template", "batch_tokens", "readout")
RUN_KEYS = ("template", "rule", "engine", "batch_tokens", "window", "controls", "seed", "readout", "head_layers")


def main(snakemake: Any) -> None:
    """Load the model once, ask and draw if the draw is balanced; write effects, controls, tensors and the rest."""
    torch.set_num_threads(snakemake.threads)
    settings, operation = snakemake.params.settings, snakemake.wildcards.operation
    items = read_table(snakemake.input.questions, ITEMS).to_pylist()
    wanted = sorted({item["image_id"] for item in items})
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"], [("image_id", "in", wanted)])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    folder = Path(snakemake.output.effects).parent
    parts = folder / f".parts-{snakemake.params.digest[:16]}"
    asked: list[dict[str, Any]] = []
    chosen = items
    if settings["balance"] is not None:
        asked = ask_all(adapter, items, images, parts / "asked", **{key: settings[key] for key in ASK_KEYS}).to_pylist()
        correct = {row["item_id"]: row["correct"] for row in asked}
        chosen, _ = draw(items, operation, settings["balance"], settings["seed"], correct)
    found = run(adapter, chosen, images, parts, **{key: settings[key] for key in RUN_KEYS})
    left = undrawn(asked, chosen, operation)
    line = account(found, len(chosen), operation) + (f"; {len(left)} more asked and not drawn" if left else "")
    print(f"{snakemake.wildcards.model}/{line}", file=sys.stderr)
    made = footer(snakemake, mechanism={"adapter": adapter.describe(), "account": line})
    write_table(snakemake.output.effects, effects_table(found, operation, "object"), EFFECTS, made)
    write_table(snakemake.output.control, effects_table(found, operation, "random"), EFFECTS, made)
    write_table(snakemake.output.rejected, set_aside(found, operation) + left, REJECTED, made)
    write_table(snakemake.output.asked, asked or as_dissected(items, found), ASKED, made)
    save_tensors(snakemake.output.tensors, found, made)
    for stale in folder.glob(".parts-*"):
        shutil.rmtree(stale, ignore_errors=True)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
