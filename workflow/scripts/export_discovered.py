"""The questions that a run discovered, as an ordinary data set for the importer `jsonl`."""

import sys
from pathlib import Path
from typing import Any

from vlmdx.discovery.cast import read_graphs
from vlmdx.discovery.export import export
from vlmdx.discovery.pictures import read_pictures
from vlmdx.provenance import run_job
from vlmdx.schema import read_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """Held-out questions that were valid and made the answerer fail, each once."""
    held_out = [("phase", "=", "held-out")]
    rows = read_table(snakemake.input.rollouts, ROLLOUTS, filters=held_out).to_pylist()
    counts = export(
        Path(snakemake.output.questions).parent,
        rows,
        read_pictures(snakemake.input.images, sorted({row["image_id"] for row in rows})),
        read_graphs(snakemake.input.get("graphs"), snakemake.params.settings["dataset"]),
        snakemake.params.settings["seed"],
    )
    passed = len(rows) - sum(counts.values())
    said = f"{counts['items']} items + {counts['repeated']} repeated + {counts['no_options']} without options"
    print(f"{snakemake.wildcards.run}: {len(rows)} questions = {said} + {passed} that did not fail", file=sys.stderr)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
