"""`vlmdx crate`: hand a run on, with its provenance, as an RO-Crate."""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.cli.project import fail, root


def crate(
    folder: Annotated[Path, typer.Argument(help="folder to write; it must not exist")],
    name: Annotated[str, typer.Option(help="name of the crate")] = "vlmdx run",
) -> None:
    """Write the tables and figures of this folder's run as a Workflow Run RO-Crate.

    Images and score shards are described with hash and size, not copied.
    """
    from vlmdx.audit.crate import write_crate

    try:
        actions = write_crate(folder, root(), name)
    except OSError as error:
        raise fail(str(error)) from error
    typer.echo(f"{folder}: {actions} jobs described", err=True)
