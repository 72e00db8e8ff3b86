"""Draw the pool: candidates from every data set, with their images."""

from pathlib import Path

from vlmdx.datasets.pool import draw_pool, gather_images
from vlmdx.datasets.spill import Spill
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED


def main(snakemake) -> None:
    items, images, rejected = snakemake.output  # in this order; Snakemake reserves the name "items"
    settings, made = snakemake.params.settings, footer(snakemake)
    names, inputs = settings["datasets"], [Path(path) for path in snakemake.input]
    if len(inputs) != 2 * len(names):
        raise ValueError(f"pool: expected the items, then the images of {names}, got {inputs}")
    tables = {name: read_table(path, ITEMS) for name, path in zip(names, inputs, strict=False)}
    pool = draw_pool(tables, settings["quotas"], settings["seed"])
    print("\n".join(pool.lines))
    with Spill(IMAGES, Path(images).parent) as spill:
        write_table(images, gather_images(inputs[len(names) :], pool.items, spill), IMAGES, made)
        write_table(rejected, pool.rejected, REJECTED, made)
        write_table(items, pool.items, ITEMS, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
