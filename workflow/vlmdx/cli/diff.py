"""`vlmdx diff`: what changed between two runs, and what it did."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vlmdx.cli.project import fail
from vlmdx.cli.wide import wide_console

if TYPE_CHECKING:
    from vlmdx.audit.diff import JobChange, TableChange

HEADLINE = {"accuracy_clean", "accuracy_corrupted", "ras", "ras_low", "ras_high", "mode", "accuracy", "rows_out"}
MOST = 15  # changed cells that are printed per table


def diff(
    run_a: Annotated[Path, typer.Argument(help="folder of one run, or its results folder")],
    run_b: Annotated[Path, typer.Argument(help="folder of the other")],
    every: Annotated[bool, typer.Option("--all", help="print every job and cell that differs")] = False,
) -> None:
    """Compare two runs: where their jobs begin to differ and why, then what that did to the tables, cell by cell.

    Exit status 0 if nothing differs, 1 otherwise.
    """
    from vlmdx.audit.diff import diff_jobs, diff_tables

    a, b = _results(run_a), _results(run_b)
    try:
        jobs, tables = diff_jobs(a, b), diff_tables(a, b)
    except (OSError, ValueError) as error:
        raise fail(str(error)) from error
    console = wide_console()
    if jobs:
        _show_jobs(console, jobs, every)
    for table in tables:
        _show_table(console, table, None if every else MOST)
    typer.echo(f"{len(jobs)} jobs and {len(tables)} tables differ", err=True)
    if jobs or tables:
        raise typer.Exit(1)


def _show_jobs(console: Console, jobs: "list[JobChange]", every: bool) -> None:
    """Jobs by rule and by what changed of themselves; those that only follow are counted."""
    groups: dict[tuple[str, str], list[JobChange]] = {}
    for job in jobs:
        if job.own or every or not job.what:
            told = job.what if every else job.own
            what = "; ".join(f"{kind}: {words}" for kind, words in told.items()) or "nothing that is recorded"
            groups.setdefault((job.rule, what), []).append(job)
    shown = Table("jobs", "what changed", "bytes", title="Where it begins", title_justify="left")
    for (_, what), members in groups.items():
        name = members[0].job if len(members) == 1 else f"{members[0].job} and {len(members) - 1} more"
        same = sum(job.same_bytes for job in members)
        written = "same" if same == len(members) else "differ" if not same else f"{same} of {len(members)} same"
        shown.add_row(Text(name), Text(what), Text(written))
    console.print(shown)
    if not every and (following := [job for job in jobs if job.what and not job.own]):
        same = sum(job.same_bytes for job in following)
        console.print(f"{len(following)} more jobs follow from these; {same} of them wrote the same bytes.")


def _show_table(console: Console, table: "TableChange", most: int | None) -> None:
    rows = len({key for key, *_ in table.cells})
    told = [f"{len(table.cells)} cells in {rows} rows differ"] if table.cells else []
    told += [f"{len(keys)} rows only in {run}" for run, keys in (("A", table.only_a), ("B", table.only_b)) if keys]
    shown = Table("row", "column", "A", "B", "B - A", title=f"{table.table}: {', '.join(told)}", title_justify="left")
    for run, keys in (("A", table.only_a), ("B", table.only_b)):
        for key in keys[:most]:
            shown.add_row(Text(key), Text(f"(only in {run})"))
    # The columns that a reader looks at first, then the order of the file.
    first = sorted(table.cells, key=lambda cell: cell[1] not in HEADLINE)[:most]
    for key, column, old, new in sorted(first, key=table.cells.index):
        shown.add_row(Text(key), Text(column), Text(_rounded(old)), Text(_rounded(new)), Text(_change(old, new)))
    console.print(shown)
    if len(first) < len(table.cells):
        console.print(f"... and {len(table.cells) - len(first)} more cells; --all prints them")


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.5g}"
    except ValueError:
        return value or "none"


def _change(old: str, new: str) -> str:
    try:
        return f"{float(new) - float(old):+.3g}"
    except ValueError:
        return ""


def _results(folder: Path) -> Path:
    for found in (folder / "results", folder):
        if (found / "provenance").is_dir():
            return found
    if not folder.is_dir():
        raise fail(f"{folder}: no such folder")
    raise fail(f"{folder}: no records of a run in it; name a folder in which snakemake ran, or its results folder")
