"""Measure one model's reliability under corruption: cells, trajectories, aggregates with intervals, letter preference.

Reads the score shards of one model over one item set (``input.selection`` names its items, where it is a part of
``input.questions``); writes only what :mod:`vlmdx.reliability` computes.
"""

import sys
from collections import Counter
from typing import Any

from vlmdx.provenance import footer, run_job
from vlmdx.reliability import reliability_tables
from vlmdx.schema import write_table
from vlmdx.schema.tables import CELLS, POSITION, SET_ASIDE, SUMMARY, TRAJECTORIES


def main(snakemake: Any) -> None:
    """Write the five tables of ``snakemake.wildcards.model``."""
    tables = reliability_tables(
        snakemake.wildcards.model,
        list(snakemake.input.scores),
        snakemake.input.questions,
        snakemake.input.get("selection"),
        **snakemake.params.settings,
    )
    codes = Counter(tables.set_aside["code"].to_pylist())
    aside = "".join(f"; {count} x {code}" for code, count in sorted(codes.items()))
    measured, total = tables.cells.num_rows, tables.cells.num_rows + tables.set_aside.num_rows
    print(
        f"{snakemake.wildcards.model}: {total} cells = {measured} measured + {total - measured} set aside{aside}",
        file=sys.stderr,
    )
    provenance = footer(snakemake)
    write_table(snakemake.output.cells, tables.cells, CELLS, provenance=provenance)
    write_table(snakemake.output.trajectories, tables.trajectories, TRAJECTORIES, provenance=provenance)
    write_table(snakemake.output.summary, tables.summary, SUMMARY, provenance=provenance)
    write_table(snakemake.output.position, tables.position, POSITION, provenance=provenance)
    write_table(snakemake.output.set_aside, tables.set_aside, SET_ASIDE, provenance=provenance)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
