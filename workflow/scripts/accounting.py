"""Account for every row of the run in results/accounting.csv; stop on the first file that lost or made up a row."""

import sys

from vlmdx.provenance import run_job
from vlmdx.reliability import accounting
from vlmdx.reliability.ras_table import write_csv
from vlmdx.schema.names import CLEAN


def main(snakemake) -> None:
    """One row per stage, data set or model, and family, in the order in which the data flow."""
    given, settings = snakemake.input, snakemake.params.settings
    cells = {
        family: [(name, severity) for name in names for severity in settings["severities"]] or [(CLEAN, 0)]
        for family, names in {CLEAN: [], **settings["families"]}.items()
    }
    named = zip(settings["quotas"].items(), given.questions, given.rejected, strict=True)
    lines = []
    for (name, quota), items, rejected in named:
        lines.append(accounting.imported(name, items, rejected))
        lines.append(accounting.pooled(name, items, quota, given.pool, given.pool_rejected))
    for family, shard in zip(cells, given.corrupted, strict=True):
        lines.append(accounting.corrupted(family, given.pool_images, shard, cells[family]))
    pool, bench = accounting.option_counts(given.pool), accounting.option_counts(given.pool, given.selection)
    lines += scores("score pool", settings["voters"], cells, given.votes, pool)
    lines.append(accounting.selected(given.pool, given.gini, given.selection))
    lines += scores("score bench", settings["models"], cells, given.scores, bench)
    for model, measured, set_aside in zip(settings["models"], given.cells, given.set_aside, strict=True):
        lines += [
            accounting.measured(model, family, len(bench), measured, set_aside, cells[family])
            for family in settings["families"]
        ]
    if settings["circular"]:
        lines.append(accounting.rotated(given.selection, given.rotated[0], given.left_out[0]))
        turned = accounting.option_counts(given.rotated[0])
        lines += scores("score circular", settings["circular"], {CLEAN: cells[CLEAN]}, given.circular, turned)
    write_csv(snakemake.output[0], [line.row() for line in lines])
    aside = sum(line.set_aside for line in lines)
    print(
        f"accounting: {len(lines)} accounts balance; {aside} rows set aside in all, each with a reason", file=sys.stderr
    )


def scores(stage, models, cells, shards, options):
    """Lines of all models' shards, which stand model by model in the order of the families."""
    places = [(model, family) for model in models for family in cells]
    return [
        accounting.scored(stage, model, family, shard, options, cells[family])
        for (model, family), shard in zip(places, shards, strict=True)
    ]


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
