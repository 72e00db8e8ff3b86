"""Change a word in the questions of one operation: one that matters for what is looked at, and one that does not."""

import sys
from typing import Any

from vlmdx.mechanism.pairs import word_pairs
from vlmdx.mechanism.tables import PAIRS
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ITEMS, REJECTED


def main(snakemake: Any) -> None:
    """Write the pairs and the questions without one; an operation may have none at all."""
    items = read_table(snakemake.input.questions, ITEMS).to_pylist()
    pairs, aside = word_pairs(items, snakemake.params.settings["seed"])
    operation = snakemake.wildcards.operation
    line = f"{operation}: {len(items)} items = {len(pairs)} with word pairs + {len(aside)} set aside"
    print(line, file=sys.stderr)
    made = footer(snakemake, account=line)
    write_table(snakemake.output.pairs, pairs, PAIRS, made)
    rows = [{"source": operation, "position": i, "item_id": i, "reason": reason} for i, reason in aside]
    write_table(snakemake.output.unpaired, rows, REJECTED, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
