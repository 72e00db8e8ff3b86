"""Corrupt every image of a data set with one family of corruptions, at every severity."""

from vlmdx.corruptions.apply import self_check
from vlmdx.corruptions.shards import corrupt_images, write_shard
from vlmdx.provenance import footer, run_job


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
    write_shard(snakemake.output[0], rows, footer(snakemake))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
