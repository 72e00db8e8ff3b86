"""Draw the pool: candidates from every data set, with their images."""

from pathlib import Path

from vlmdx.datasets.pool import draw_pool, gather_images
from vlmdx.datasets.spill import Spill
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED


def main(snakemake) -> None:
    """Draw from each data set and copy the images that the drawn items need."""
    settings, made = snakemake.params.settings, footer(snakemake)
    tables = {
        name: read_table(path, ITEMS)
        for name, path in zip(settings["datasets"], snakemake.input.questions, strict=True)
    }
    pool = draw_pool(tables, settings["quotas"], settings["seed"])
    print("\n".join(pool.lines))
    sources, out = [Path(path) for path in snakemake.input.images], snakemake.output
    with Spill(IMAGES, Path(out.images).parent) as spill:
        write_table(out.images, gather_images(sources, pool.items, spill), IMAGES, made)
        write_table(out.rejected, pool.rejected, REJECTED, made)
        write_table(out.questions, pool.items, ITEMS, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
