"""Teach the demo questioner to ask, starting from qwen-demo."""

import os
import shutil
from pathlib import Path

from vlmdx.demo.figure import write_rows
from vlmdx.demo.questioner import train_questioner
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """Model folder and learning curve; a training that was killed goes on from its last state."""
    model = Path(snakemake.output.model)
    # Snakemake removes declared outputs before a rerun, so the resumable state lies beside them.
    trained = model.with_name(f"{model.name}.training") / model.name
    trained.parent.mkdir(parents=True, exist_ok=True)
    curve = train_questioner(
        snakemake.params.start,
        trained,
        Path(snakemake.input.questioner).read_text(encoding="utf-8"),
        Path(snakemake.input.conme).read_text(encoding="utf-8"),
        seed=snakemake.params.settings["seed"],
        say=lambda line: print(line, flush=True),
    )
    write_rows(snakemake.output.curve, curve)
    new = model.with_name(f".{model.name}.{os.getpid()}")
    shutil.copytree(trained, new)
    shutil.rmtree(model, ignore_errors=True)
    new.rename(model)
    shutil.rmtree(trained.parent)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
