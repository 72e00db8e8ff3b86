"""Corrupt every image of a data set with one family of corruptions, at every severity."""

import sys

from vlmdx.corruptions.apply import self_check
from vlmdx.corruptions.shards import corrupt_images, write_shard
from vlmdx.provenance import footer, run_job
from vlmdx.schema import ContractError, read_table
from vlmdx.schema.tables import IMAGES


def main(snakemake):
    """Write ``results/corrupted/{dataset}/{family}.parquet``; family ``clean`` holds the images at severity 0."""
    settings = snakemake.params.settings
    self_check(settings["corruptions"])
    rows = corrupt_images(
        snakemake.input.images,
        corruptions=settings["corruptions"],
        severities=settings["severities"],
        seed=settings["seed"],
        reference_side=settings["reference_side"],
        workers=snakemake.threads,
    )
    # An image that cannot be corrupted stops the job: import set aside all that could not be decoded.
    written = write_shard(snakemake.output[0], rows, footer(snakemake))
    images = read_table(snakemake.input.images, IMAGES, ["image_id"]).num_rows
    asked = images * max(1, len(settings["corruptions"]) * len(settings["severities"]))
    if written != asked:
        raise ContractError(f"{snakemake.output[0]}: {asked} image versions were asked for, {written} are there")
    print(
        f"{snakemake.output[0]}: {asked} image versions of {images} images = {written} written + 0 set aside",
        file=sys.stderr,
    )


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
