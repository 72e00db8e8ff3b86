"""Linear probes of one model's layers on one operation's word pairs."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: jobs never download

import sys
from typing import Any

import torch
from vlmdx.mechanism.probing import probe_layers
from vlmdx.mechanism.probing_states import pair_states
from vlmdx.mechanism.tables import PAIRS, PROBES
from vlmdx.models.load import load
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")


def main(snakemake: Any) -> None:
    """Load the model once; write what the probes told right, and the pairs set aside."""
    torch.set_num_threads(snakemake.threads)
    settings, operation = snakemake.params.settings, snakemake.wildcards.operation
    pairs = read_table(snakemake.input.pairs, PAIRS).to_pylist()
    items = {item["item_id"]: item for item in read_table(snakemake.input.questions, ITEMS).to_pylist()}
    wanted = sorted({pair["image_id"] for pair in pairs})
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"], [("image_id", "in", wanted)])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    shown, states, aside = pair_states(adapter, pairs, items, images, settings["template"], settings["batch_tokens"])
    if len({pair["image_id"] for pair in shown}) < 2:
        aside += [(pair["item_id"], "fewer than two images with pairs: nothing to test a probe on") for pair in shown]
        shown = []
    rows = probe_layers(shown, states, settings["folds"], settings["seed"]) if shown else []
    line = f"{operation}: {len(pairs)} word pairs = {len(shown)} probed + {len(aside)} set aside"
    print(f"{snakemake.wildcards.model}/{line}", file=sys.stderr)
    made = footer(snakemake, mechanism={"adapter": adapter.describe(), "account": line})
    write_table(snakemake.output.probes, rows, PROBES, made)
    rejected = [{"source": operation, "position": i, "item_id": i, "reason": reason} for i, reason in sorted(aside)]
    write_table(snakemake.output.unprobed, rejected, REJECTED, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
