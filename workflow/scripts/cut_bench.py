"""Cut a voter's bench scores out of its pool scores: the same rows, nothing computed again."""

import sys

from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import SCORES, SELECTION
from vlmdx.selection.cut import cut


def main(snakemake) -> None:
    """Keep the rows of the chosen items, shard by shard, in the order of the pool's rows."""
    selection = read_table(snakemake.input.selection, SELECTION, columns=["item_id"])
    for pool, bench in zip(snakemake.input.scores, snakemake.output.scores, strict=True):
        scores = read_table(pool, SCORES)
        chosen = cut(scores, selection["item_id"].to_pylist(), pool)
        write_table(bench, chosen, SCORES, provenance=footer(snakemake))
        left = scores.num_rows - chosen.num_rows
        print(
            f"{pool}: {scores.num_rows} option rows = {chosen.num_rows} of the bench + {left} of items not chosen",
            file=sys.stderr,
        )


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
