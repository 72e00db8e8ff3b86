"""Teach the demo questioner to ask, starting from qwen-demo."""

from pathlib import Path

from vlmdx.demo.checkpoint import deliver, workplace
from vlmdx.demo.figure import write_rows
from vlmdx.demo.questioner import train_questioner
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """Model folder and learning curve; a training that was killed goes on from its last state."""
    model = Path(snakemake.output.model)
    trained = workplace(model)
    curve = train_questioner(
        snakemake.params.start,
        trained,
        Path(snakemake.input.questioner).read_text(encoding="utf-8"),
        Path(snakemake.input.conme).read_text(encoding="utf-8"),
        seed=snakemake.params.settings["seed"],
        say=lambda line: print(line, flush=True),
    )
    write_rows(snakemake.output.curve, curve)
    deliver(trained, model)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
