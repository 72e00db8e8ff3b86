"""Embed the images and texts of the pool, for the diversity of the selection."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys

import numpy as np
import torch
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table
from vlmdx.schema.tables import ITEMS
from vlmdx.selection.embed import embed_images, embed_texts, item_text
from vlmdx.selection.embeddings import clean_images, write_embeddings


def main(snakemake) -> None:
    """Embed every image once, give each item its image's vector, and write both next to the item ids."""
    torch.set_num_threads(snakemake.threads)
    settings = snakemake.params.settings
    items = read_table(
        snakemake.input.questions, ITEMS, columns=["item_id", "image_id", "question", "options"]
    ).to_pylist()
    wanted = sorted({item["image_id"] for item in items})
    row: dict[str, int] = {}

    def pixels():
        for number, (image_id, rgb) in enumerate(clean_images(snakemake.input.images, wanted)):
            row[image_id] = number
            yield rgb

    images = embed_images(pixels(), settings["image_encoder"], settings["image_revision"], total=len(wanted))
    texts = [item_text(item["question"], item["options"]) for item in items]
    write_embeddings(
        snakemake.output[0],
        [item["item_id"] for item in items],
        images[np.array([row[item["image_id"]] for item in items])],
        embed_texts(texts, settings["text_encoder"], settings["text_revision"]),
        footer(snakemake),
    )
    print(
        f"embed_pool: {len(items)} items on {len(wanted)} images = {len(items)} embedded + 0 set aside", file=sys.stderr
    )


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
