"""Import one data set: its items, decoded images and the rows set aside."""

from pathlib import Path

from vlmdx.datasets.driver import import_items
from vlmdx.datasets.spill import Spill
from vlmdx.provenance import footer, run_job
from vlmdx.schema import write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED


def main(snakemake) -> None:
    """Write the three tables and print the row counts and the checksum of the split."""
    settings, name = snakemake.params.settings, snakemake.wildcards.dataset
    with Spill(IMAGES, Path(snakemake.output.images).parent) as spill:
        found = import_items(
            name,
            settings["importer"],
            settings["options"],
            seed=settings["seed"],
            max_pixels=settings["max_pixels"],
            spill=spill,
            threads=snakemake.threads,
        )
        print("\n".join(found.summary.lines(name)))
        made = footer(
            snakemake, checksum=found.summary.checksum, rows=found.summary.read, undrawn=found.summary.undrawn
        )
        write_table(snakemake.output.images, found.images, IMAGES, made)
        write_table(snakemake.output.rejected, found.rejected, REJECTED, made)
        write_table(snakemake.output.questions, found.items, ITEMS, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
