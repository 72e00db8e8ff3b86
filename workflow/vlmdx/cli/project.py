"""Where the project is, and its config, for every command."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from vlmdx.config import ConfigError, load
from vlmdx.config.jobs import Jobs

ConfigFile = Annotated[
    Path | None, typer.Option("--configfile", help="config file; the embedded default where none is given")
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
    path = configfile or root() / "config" / "config.yaml"
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(raw, dict):
            raise ConfigError(f"{path}: no mapping of keys")
        return Jobs(load(raw), root())
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ConfigError) as error:
        raise fail(str(error)) from error


def fail(message: str) -> typer.Exit:
    """Print ``message`` to stderr; the returned exception ends the command with status 1."""
    typer.echo(message, err=True)
    return typer.Exit(1)
