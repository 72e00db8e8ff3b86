"""Draw boxes, tokens and effects of subject and object on the photos of a few statements of each relation category."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: jobs never download

from typing import Any

from vlmdx.mechanism.tables import VSR_EFFECTS
from vlmdx.mechanism.vsr_figure import draw_vsr_overlays, strongest_statements, vsr_overlay
from vlmdx.models.load import load
from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.schema import read_table
from vlmdx.schema.tables import IMAGES, ITEMS

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    settings = snakemake.params.settings
    effects = read_table(snakemake.input.effects, VSR_EFFECTS).to_pandas()
    items = {item["item_id"]: item for item in read_table(snakemake.input.questions, ITEMS).to_pylist()}
    chosen = [items[i] for i in strongest_statements(effects, settings["per_operation"])]
    wanted = sorted({item["image_id"] for item in chosen})
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"], [("image_id", "in", wanted)])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    how = [settings[key] for key in ("template", "rule", "seed")]
    shown = [vsr_overlay(adapter, item, images[item["image_id"]], effects, *how) for item in chosen]
    render(snakemake.output.svg, snakemake.output.png, draw_vsr_overlays, shown)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
