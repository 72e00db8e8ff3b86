"""Half teach the demo's third answerer, starting from qwen-demo."""

from pathlib import Path

from vlmdx.demo.checkpoint import deliver, workplace
from vlmdx.demo.figure import write_rows
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.pupil import by_wording, train_pupil
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """Model folder and learning curve; a training that was killed goes on from its last state."""
    prompts = Prompts(letter=Path(snakemake.input.letter).read_text(), text=Path(snakemake.input.text).read_text())
    model = Path(snakemake.output.model)
    trained = workplace(model)
    curve = train_pupil(
        snakemake.params.start,
        trained,
        prompts,
        seed=snakemake.params.settings["seed"],
        say=lambda line: print(line, flush=True),
    )
    write_rows(snakemake.output.curve, curve)
    write_rows(
        snakemake.output.accuracy, by_wording(trained, prompts, seed=snakemake.params.settings["seed"], scenes=200)
    )
    deliver(trained, model)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
