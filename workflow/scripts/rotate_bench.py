"""Turn the options of every bench item round, for the check of position bias."""

import sys

import pyarrow as pa
import pyarrow.compute as pc
from vlmdx.provenance import footer, run_job
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import ITEMS, REJECTED, SELECTION
from vlmdx.scoring.rotate import rotate_items


def main(snakemake) -> None:
    """Write the rotated items, and the items that cannot be rotated."""
    chosen = read_table(snakemake.input.selection, SELECTION, columns=["item_id"])["item_id"]
    items = read_table(snakemake.input.questions, ITEMS)
    bench = items.filter(pc.is_in(items["item_id"], pa.array(chosen.to_pylist(), pa.string())))
    rotated, rejected = rotate_items(bench, str(snakemake.input.questions))
    kept = bench.num_rows - rejected.num_rows
    print(
        f"rotate_bench: {bench.num_rows} items = {kept} rotated + {rejected.num_rows} set aside; "
        f"{rotated.num_rows} rotations",
        file=sys.stderr,
    )
    made = footer(snakemake)
    write_table(snakemake.output.rejected, rejected, REJECTED, made)
    write_table(snakemake.output.questions, rotated, ITEMS, made)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
