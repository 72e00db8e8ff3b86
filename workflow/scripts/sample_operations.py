"""Draw the questions of one operation that are dissected; what cannot be grounded is set aside with its reason."""

import sys
from typing import Any

from vlmdx.mechanism.draw import draw
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ITEMS, REJECTED


def main(snakemake: Any) -> None:
    """Write the drawn items (rows of the item table) and those set aside."""
    settings, operation = snakemake.params.settings, snakemake.wildcards.operation
    items = read_table(snakemake.input.questions, ITEMS).to_pylist()
    chosen, aside = draw(items, operation, settings["n"], settings["seed"])
    asked = sum(item["operation"] == operation for item in items)
    left = asked - len(chosen) - len(aside)
    line = f"{operation}: {asked} items = {len(chosen)} drawn + {left} not drawn + {len(aside)} set aside"
    print(line, file=sys.stderr)
    made = footer(snakemake, account=line)
    write_table(snakemake.output.questions, chosen, ITEMS, made)
    rows = [{"source": operation, "position": i, "item_id": i, "reason": reason} for i, reason in sorted(aside)]
    write_table(snakemake.output.rejected, rows, REJECTED, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
