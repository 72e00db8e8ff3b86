"""Select the bench: the questions of the pool whose answers waver most under corruption, and that differ."""

import sys
from pathlib import Path

from vlmdx.provenance import footer, run_job
from vlmdx.schema import atomic, read_table, write_table
from vlmdx.schema.tables import GINI, ITEMS, SELECTION
from vlmdx.selection.embeddings import read_embeddings
from vlmdx.selection.gini import gini_table
from vlmdx.selection.greedy import select


def main(snakemake) -> None:
    """Gini impurity over the voters' answers, then greedy selection; the ids also as plain text, in order of choice."""
    settings = snakemake.params.settings
    items = read_table(snakemake.input.questions, ITEMS, columns=["item_id"])
    image, text = read_embeddings(snakemake.input.embeddings, items)
    voters: dict[str, list[Path]] = {}
    for shard in map(Path, snakemake.input.scores):  # results/scores/{model}/{itemset}/{family}.parquet
        voters.setdefault(shard.parents[1].name, []).append(shard)
    gini = gini_table(voters, items["item_id"].to_pylist(), settings["severities"])
    chosen = select(
        gini["item_id"].to_pylist(),
        gini["gini"].to_pylist(),
        image,
        text,
        target=settings["target"],
        weight_gini=settings["weight_gini"],
        weight_image=settings["weight_image"],
        max_similarity=settings["max_similarity"],
    )
    pool, bench, silent = gini.num_rows, chosen.table.num_rows, gini["gini"].null_count
    print(
        f"{chosen.account()}\n"
        f"select_bench: {pool} items = {bench} chosen + {pool - bench} set aside; {silent} x no voter has a whole "
        f"trajectory; {pool - bench - silent} x not chosen",
        file=sys.stderr,
    )
    provenance = footer(snakemake, account=chosen.account())
    write_table(snakemake.output.selection, chosen.table, SELECTION, provenance=provenance)
    write_table(snakemake.output.gini, gini, GINI, provenance=provenance)
    with atomic(snakemake.output.ids) as path:
        path.write_text("".join(f"{item}\n" for item in chosen.table["item_id"].to_pylist()), encoding="utf-8")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
