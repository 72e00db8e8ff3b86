"""`vlmdx check-config`: what is wrong with a config file, before Snakemake reads it?"""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.cli.project import fail, read_jobs
from vlmdx.config import ConfigError
from vlmdx.config.faults import faults


def check_config(
    configfile: Annotated[
        Path | None, typer.Argument(help="config file; the embedded default where none is given")
    ] = None,
) -> None:
    """Print every mistake of a config file, one a line with its place and the remedy; exit status 1 if there is one.

    Snakemake shows a Python traceback where a file is no UTF-8 or no YAML at all; this names the line.
    """
    jobs = read_jobs(configfile)
    try:
        found = faults(jobs.asked, jobs.here)
    except ConfigError as error:
        raise fail(str(error)) from error
    if found:
        raise fail("\n".join(found))
    config = jobs.config
    typer.echo(f"no mistake: {len(config.datasets)} data sets, {len(config.models)} models")
