"""`vlmdx why`: where does this row come from?"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from vlmdx.cli.project import fail, in_run_folder, root, snakefile_elsewhere
from vlmdx.cli.wide import wide_console

if TYPE_CHECKING:
    from vlmdx.audit.why import Step


def why(
    table: Annotated[str, typer.Argument(help="a CSV table of this run, such as results/ras_table.csv")],
    row: Annotated[
        list[str],
        typer.Option(help="value of the first column (a model's slug), or column=value; again until one row is named"),
    ],
    column: Annotated[str | None, typer.Option(help="show this cell of the row alone")] = None,
) -> None:
    """Walk from a row or cell back to answers, questions, images, model files and code; print how to make it again.

    vlmdx why results/ras_by_corruption.csv --row qwen-demo --row corruption=fog --column ras
    """
    from vlmdx.audit.rerun import shown
    from vlmdx.audit.rules import Rules, WorkflowFault
    from vlmdx.audit.why import why as answer_of
    from vlmdx.config.paths import RESOLVED_CONFIG

    in_run_folder()
    table = os.path.relpath(table)  # as its record names it
    try:
        answer = answer_of(table, row, Rules(root(), Path(RESOLVED_CONFIG)))
    except (LookupError, OSError, UnicodeDecodeError, WorkflowFault) as error:
        raise fail(str(error.args[0] if isinstance(error, LookupError) else error)) from error
    if column and column not in answer.row:
        raise fail(f"{table}: no column {column!r}; there are {', '.join(answer.row)}")
    console = wide_console()
    cells = Table(show_header=False, box=None)
    for name, value in answer.row.items():
        if column in (None, name):
            cells.add_row(Text(name, "bold"), Text(value or "none"))
    console.print(cells)
    console.print(_tree(answer.step))
    if answer.changed:
        console.print("\nChanged since; the command below gives what today's code and config give:", style="yellow")
        for job, what in answer.changed.items():
            console.print(Text(f"  {job}: {what}"))
    start = ", from the model's answers on" if "model" in answer.row else ""
    console.print(f"\nMake it again{start}:", style="bold")
    place = ["--snakefile", str(elsewhere)] if (elsewhere := snakefile_elsewhere()) else []
    typer.echo(shown([*place, "--configfile", RESOLVED_CONFIG, *answer.remake]))


def _tree(step: "Step", above: Tree | None = None) -> Tree:
    made = f"  {step.record['rule']} {step.record['digest'][:8]}" if step.record else ""
    label = Text.assemble(step.path, (made, "cyan"), ("  (see above)" if step.seen else "", "dim"))
    for fact in step.facts:
        label.append(f"\n{fact}", "dim")
    branch = Tree(label) if above is None else above.add(label)
    for before in step.before:
        _tree(before, branch)
    return branch
