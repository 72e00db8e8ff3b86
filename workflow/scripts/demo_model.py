"""Train one tiny demo VLM on demo scenes and measure it on held-out ones."""

from pathlib import Path

from vlmdx.demo.checkpoint import deliver, workplace
from vlmdx.demo.evaluate import report
from vlmdx.demo.figure import write_rows
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.train import train
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """Model folder, learning curve and accuracies; a training that was killed goes on from its last checkpoint."""
    prompts = Prompts(letter=Path(snakemake.input.letter).read_text(), text=Path(snakemake.input.text).read_text())
    model = Path(snakemake.output.model)
    trained = workplace(model)
    curve = train(
        snakemake.wildcards.model,
        trained,
        prompts,
        seed=snakemake.params.settings["seed"],
        say=lambda line: print(line, flush=True),
    )
    write_rows(snakemake.output.accuracy, report(trained, prompts, seed=snakemake.params.settings["seed"]))
    write_rows(snakemake.output.curve, curve)
    deliver(trained, model)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
