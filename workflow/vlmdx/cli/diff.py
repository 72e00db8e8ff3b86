"""`vlmdx diff`: what changed between two runs, and what it did."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from vlmdx.cli.project import fail
from vlmdx.cli.wide import wide_console

MOST = 40  # changed cells that are printed per table


def diff(
    run_a: Annotated[Path, typer.Argument(help="results folder of one run, or the folder around it")],
    run_b: Annotated[Path, typer.Argument(help="results folder of the other")],
) -> None:
    """Compare two runs: code, settings, data, models and libraries by job, then the tables cell by cell.

    Exit status 0 if nothing differs, 1 otherwise.
    """
    from vlmdx.audit.diff import diff_jobs, diff_tables

    a, b = _results(run_a), _results(run_b)
    jobs, tables = diff_jobs(a, b), diff_tables(a, b)
    console = wide_console()
    if jobs:
        shown = Table("job", "what changed", "bytes", title_justify="left")
        for job in jobs:
            what = "; ".join(f"{kind}: {words}" for kind, words in job.what.items()) or "nothing that is recorded"
            shown.add_row(Text(job.job), Text(what), Text("same" if job.same_bytes else "differ"))
        console.print(shown)
    for table in tables:
        shown = Table("row", "column", "A", "B", title=table.table, title_justify="left")
        for key in table.only_a:
            shown.add_row(Text(key), Text("(row)"), Text("present"), Text("absent"))
        for key in table.only_b:
            shown.add_row(Text(key), Text("(row)"), Text("absent"), Text("present"))
        for cell in table.cells[:MOST]:
            shown.add_row(*map(Text, cell))
        console.print(shown)
        if len(table.cells) > MOST:
            typer.echo(f"... and {len(table.cells) - MOST} more cells of {table.table}")
    typer.echo(f"{len(jobs)} jobs and {len(tables)} tables differ", err=True)
    if jobs or tables:
        raise typer.Exit(1)


def _results(folder: Path) -> Path:
    found = folder / "results" if (folder / "results" / "provenance").is_dir() else folder
    if not (found / "provenance").is_dir():
        raise fail(f"{folder}: no results folder (it holds no provenance)")
    return found
