"""Position bias of all models from rotated options, in results/circular.csv."""

import sys

from vlmdx.provenance import run_job
from vlmdx.reliability.circular import circular_rows
from vlmdx.reliability.ras_table import write_csv
from vlmdx.schema import read_table
from vlmdx.schema.tables import REJECTED


def main(snakemake) -> None:
    """One row per model."""
    given, settings = snakemake.input, snakemake.params.settings
    rows = circular_rows(
        dict(zip(settings["models"], zip(given.plain, given.scores, strict=True), strict=True)),
        given.questions,
        given.rotated,
        read_table(given.left_out, REJECTED, ["item_id"]).num_rows,
        bootstrap=settings["bootstrap"],
        confidence=settings["confidence"],
        seed=settings["seed"],
    )
    write_csv(snakemake.output[0], rows)
    for row in rows:
        done, aside, left = row["items"], row["set_aside"], row["left_out"]
        line = f"{row['model']}: {done + aside + left} items = {done} compared + {aside + left} set aside"
        print(f"{line}; {left} x options cannot turn; {aside} x not scored in every rotation", file=sys.stderr)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
