"""Where the project is, and its config, for every command."""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.config import ConfigError, load
from vlmdx.config.files import read_config
from vlmdx.config.jobs import Jobs
from vlmdx.config.joint_jobs import JointJobs
from vlmdx.config.resolved import last_configfiles

ConfigFile = Annotated[
    Path | None, typer.Option("--configfile", help="config file; the embedded default where none is given")
]
LastConfigFile = Annotated[
    Path | None, typer.Option("--configfile", help="config file to judge by; that of the last run where none is given")
]


def root() -> Path:
    """The checkout: the nearest folder upwards with a Snakefile and a config folder, else the package's own."""
    for folder in (here := Path.cwd(), *here.parents):
        if (folder / "Snakefile").is_file() and (folder / "config").is_dir():
            return folder
    return Path(__file__).resolve().parents[3]


def read_jobs(configfile: Path | None) -> Jobs:
    """The jobs of a config file, as the workflow sees them.

    Raises:
        typer.Exit: the file cannot be read or has mistakes, which are printed one a line.
    """
    try:
        return JointJobs(load(read_config(configfile or root() / "config" / "config.yaml")), root())
    except ConfigError as error:
        raise fail(str(error)) from error


def chosen_configs(configfile: Path | None) -> list[Path]:
    """The config to judge a finished run by: the given one, else the last run's; none for the embedded default."""
    return [configfile] if configfile else last_configfiles()


def in_run_folder() -> None:
    """See that a run was made here.

    Raises:
        typer.Exit: no results with records under the working directory.
    """
    if not Path("results/provenance").is_dir():
        raise fail(f"{Path.cwd()}: no results/provenance here; start in the folder in which snakemake ran")


def snakefile_elsewhere() -> Path | None:
    """The Snakefile where Snakemake would not find it by itself from the working directory."""
    return None if Path("Snakefile").is_file() else root() / "Snakefile"


def fail(message: str) -> typer.Exit:
    """Print ``message`` to stderr; the returned exception ends the command with status 1."""
    typer.echo(message, err=True)
    return typer.Exit(1)
