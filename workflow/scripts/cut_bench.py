"""Cut a voter's bench scores out of its pool scores: the same rows, nothing computed again."""

from vlmdx.provenance import footer
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import SCORES, SELECTION
from vlmdx.selection.cut import cut


def main(snakemake) -> None:
    """Keep the rows of the chosen items, in the order of the pool shard."""
    scores = read_table(snakemake.input.scores, SCORES)
    selection = read_table(snakemake.input.selection, SELECTION, columns=["item_id"])
    chosen = cut(scores, selection["item_id"].to_pylist(), snakemake.input.scores)
    write_table(snakemake.output[0], chosen, SCORES, provenance=footer(snakemake))


if "snakemake" in globals():
    main(snakemake)  # noqa: F821 -- injected by Snakemake
