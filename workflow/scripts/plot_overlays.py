"""Draw box, tokens and effects of a few items of each operation on their images."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: jobs never download

from typing import Any

import pandas as pd
import pyarrow as pa
from vlmdx.mechanism.figures import draw_overlays
from vlmdx.mechanism.overlay import overlay, strongest
from vlmdx.models.load import load
from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS, IMAGES, ITEMS

MODEL_KEYS = ("source", "revision", "family", "dtype", "device", "attention", "max_pixels", "trust_remote_code")


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    settings = snakemake.params.settings
    effects = read_table(snakemake.input.effects, EFFECTS).to_pandas()
    modes = pd.read_csv(snakemake.input.failure_modes).set_index("operation")["mode"].to_dict()
    questions = pa.concat_tables([read_table(path, ITEMS) for path in snakemake.input.questions]).to_pylist()
    items = {item["item_id"]: item for item in questions}
    chosen = [items[i] for i in strongest(effects, sorted(modes), settings["per_operation"])]
    wanted = sorted({item["image_id"] for item in chosen})
    table = read_table(snakemake.input.images, IMAGES, ["image_id", "image"], [("image_id", "in", wanted)])
    images = {row["image_id"]: row["image"]["bytes"] for row in table.to_pylist()}
    adapter = load(**{key: settings[key] for key in MODEL_KEYS})
    shown = [
        overlay(
            adapter,
            item,
            images[item["image_id"]],
            effects,
            modes[item["operation"]],
            settings["template"],
            settings["rule"],
            settings["seed"],
        )
        for item in chosen
    ]
    render(snakemake.output.svg, snakemake.output.png, draw_overlays, shown)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
