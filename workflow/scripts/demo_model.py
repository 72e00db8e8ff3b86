"""Train one tiny demo VLM on demo scenes and measure it on held-out ones."""

import os
import shutil
from pathlib import Path

from vlmdx.demo.evaluate import report
from vlmdx.demo.figure import write_rows
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.train import train
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """Model folder, learning curve and accuracies; a training that was killed goes on from its last checkpoint."""
    prompts = Prompts(letter=Path(snakemake.input.letter).read_text(), text=Path(snakemake.input.text).read_text())
    model = Path(snakemake.output.model)
    # Snakemake removes declared outputs before a rerun, so the resumable state lies beside them
    work = model.with_name(f"{model.name}.training")
    trained = work / model.name
    work.mkdir(parents=True, exist_ok=True)
    curve = train(
        snakemake.wildcards.model,
        trained,
        prompts,
        seed=snakemake.params.settings["seed"],
        say=lambda line: print(line, flush=True),
    )
    write_rows(snakemake.output.accuracy, report(trained, prompts, seed=snakemake.params.settings["seed"]))
    write_rows(snakemake.output.curve, curve)
    # copied, not moved: a kill from here on must leave a training that can still be finished
    new = model.with_name(f".{model.name}.{os.getpid()}")
    shutil.copytree(trained, new)
    shutil.rmtree(model, ignore_errors=True)
    new.rename(model)
    shutil.rmtree(work)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
