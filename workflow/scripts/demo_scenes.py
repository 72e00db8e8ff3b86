"""Write the demo scenes and their questions in GQA's own file format."""

from pathlib import Path

from vlmdx.demo.scene import DEMO_FIRST
from vlmdx.demo.world import write_scenes
from vlmdx.provenance import run_job


def main(snakemake) -> None:
    """A folder under ``results/demo``: questions.json, sceneGraphs.json and images/."""
    write_scenes(
        Path(snakemake.output.questions).parent,
        seed=snakemake.params.settings["seed"],
        first=DEMO_FIRST,
        count=snakemake.params.settings["scenes"],
        questions_per_scene=snakemake.params.settings["questions_per_scene"],
    )


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
