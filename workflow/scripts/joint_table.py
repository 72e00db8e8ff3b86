"""What the three diagnoses say together: each model's discovered failure modes, their reliability, their pathway."""

import sys
from typing import Any

import pandas as pd
from vlmdx.provenance import run_job
from vlmdx.report.joint import joint_rows
from vlmdx.schema import atomic, read_table
from vlmdx.schema.tables import CELLS, EFFECTS, ITEMS, SKILLS, TRANSFER

MODES = 8  # per run: a table to be read


def main(snakemake: Any) -> None:
    """One row per run, model and failure mode."""
    given, settings = snakemake.input, snakemake.params.settings
    drawing = {key: settings[key] for key in ("replicates", "confidence", "seed")}
    rows: list[dict] = []
    parts = iter(zip(given.transfer, given.cells, given.effects, strict=True))
    for at, run in enumerate(settings["runs"]):
        items = read_table(given.questions[at], ITEMS, ["item_id", "question"]).to_pandas()
        named = read_table(given.skills[at], SKILLS).to_pylist()
        skills = {(row["image_id"], row["question"]): row["skills"] for row in named}
        table = pd.read_csv(given.failure_modes[at])
        modes = table.loc[table["failure_mode"].astype(bool), "mode"].tolist()[:MODES]
        for model in settings["models"]:
            transfer, cells, effects = next(parts)
            rows += joint_rows(
                run,
                model,
                items,
                skills,
                modes,
                read_table(transfer, TRANSFER).to_pandas(),
                read_table(cells, CELLS).to_pandas(),
                read_table(effects, EFFECTS).to_pandas(),
                **drawing,
            )
    found = pd.DataFrame(rows)
    print(
        f"{len(found)} rows, {found['mode'].nunique() - 1} failure modes of {len(settings['runs'])} runs",
        file=sys.stderr,
    )
    with atomic(snakemake.output.table) as temporary:
        found.to_csv(temporary, index=False, lineterminator="\n")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
