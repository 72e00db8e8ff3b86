"""The effects of all interventions in all layers of one model on discovered questions, whatever their operation."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: jobs never download

import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from vlmdx.mechanism.artifacts import account, effects_table, set_aside
from vlmdx.mechanism.run import run
from vlmdx.models.load import load
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import EFFECTS, IMAGES, ITEMS, REJECTED

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")
RUN_KEYS = ("template", "rule", "engine", "batch_tokens", "window", "controls", "seed")


def main(snakemake: Any) -> None:
    """Load the model once; write effects and the items set aside. Counting is no operation of GQA: set aside."""
    torch.set_num_threads(snakemake.threads)
    settings, name = snakemake.params.settings, snakemake.wildcards.dataset
    items = read_table(snakemake.input.questions, ITEMS).to_pylist()
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    asked = [item for item in items if item["operation"]]
    without = [item["item_id"] for item in items if not item["operation"]]
    folder = Path(snakemake.output.effects).parent
    # A run that fails at counting alone, or one without scene graphs: the joint table has no pathway then.
    if not asked:
        line = f"none of {len(items)} items has an operation of GQA; nothing was dissected"
        print(f"{snakemake.wildcards.model}/{name}: {line}", file=sys.stderr)
        made = footer(snakemake, mechanism={"account": line})
        write_table(snakemake.output.effects, [], EFFECTS, made)
        write_table(snakemake.output.rejected, [_no_operation(name, item) for item in without], REJECTED, made)
        return
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    parts = folder / f".parts-{snakemake.params.digest[:16]}"
    found = run(adapter, asked, images, parts, **{key: settings[key] for key in RUN_KEYS})
    line = f"{account(found, len(asked), name)}; {len(without)} items have no operation of GQA"
    print(f"{snakemake.wildcards.model}/{line}", file=sys.stderr)
    made = footer(snakemake, mechanism={"adapter": adapter.describe(), "account": line})
    tables, aside = [], [_no_operation(name, item) for item in without]
    for operation in sorted({item["operation"] for item in asked}):
        ids = pa.array([item["item_id"] for item in asked if item["operation"] == operation])
        own = found.filter(pc.is_in(found["item_id"], ids))
        tables.append(effects_table(own, operation, "object"))
        aside += set_aside(own, operation)
    write_table(snakemake.output.effects, pa.concat_tables(tables), EFFECTS, made)
    write_table(snakemake.output.rejected, aside, REJECTED, made)
    for stale in folder.glob(".parts-*"):
        shutil.rmtree(stale, ignore_errors=True)


def _no_operation(source: str, item_id: str) -> dict[str, str]:
    return {"source": source, "position": item_id, "item_id": item_id, "reason": "no operation of GQA, e.g. counting"}


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
