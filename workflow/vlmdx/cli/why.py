"""`vlmdx why`: where does this row come from?"""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from vlmdx.cli.project import fail
from vlmdx.cli.wide import wide_console

if TYPE_CHECKING:
    from vlmdx.audit.why import Step


def why(
    table: Annotated[str, typer.Argument(help="a table of this run, such as results/ras_table.csv")],
    row: Annotated[str, typer.Option(help="value of the first column, such as a model's slug")],
) -> None:
    """Walk from a row back to answers, questions, images, model files and code; print the command that remakes it."""
    from vlmdx.audit.why import why as answer_of

    try:
        answer = answer_of(table, row)
    except (LookupError, OSError) as error:
        raise fail(str(error.args[0] if isinstance(error, LookupError) else error)) from error
    console = wide_console()
    shown = Table(show_header=False, box=None)
    for name, value in answer.row.items():
        shown.add_row(Text(name, "bold"), Text(value or "none"))
    console.print(shown)
    console.print(_tree(answer.step))
    console.print("\nMake it again, from the answers on:", style="bold")
    typer.echo(answer.remake)


def _tree(step: "Step", above: Tree | None = None) -> Tree:
    made = f"  {step.record['rule']} {step.record['digest'][:8]}" if step.record else ""
    label = Text.assemble(step.path, (made, "cyan"), ("  (see above)" if step.seen else "", "dim"))
    for fact in step.facts:
        label.append(f"\n{fact}", "dim")
    branch = Tree(label) if above is None else above.add(label)
    for before in step.before:
        _tree(before, branch)
    return branch
