"""`vlmdx crate`: hand a run on, with its provenance, as an RO-Crate."""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.cli.project import fail, in_run_folder, root


def crate(
    folder: Annotated[Path, typer.Argument(help="folder to write; it must not exist")],
    name: Annotated[str, typer.Option(help="name of the crate")] = "vlmdx run",
) -> None:
    """Hand the run in this folder on: tables, figures, ledger and what made what, as a Provenance Run Crate (RO-Crate).

    Images and score shards are described with hash and size, not copied.
    """
    from vlmdx.audit.crate import write_crate

    in_run_folder()
    try:
        actions = write_crate(folder, root(), name)
    except (OSError, ValueError) as error:
        raise fail(str(error)) from error
    typer.echo(f"{folder}: {actions} jobs described", err=True)
