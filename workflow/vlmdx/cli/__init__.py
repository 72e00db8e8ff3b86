"""The command `vlmdx`: one file per command, imported only when it runs."""

import typer

from vlmdx.cli import audit, check_config, crate, diff, doctor, fetch, query, why

# A traceback that shows local variables could show a token.
app = typer.Typer(name="vlmdx", no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command("check-config")(check_config.check_config)
app.command("fetch")(fetch.fetch)
app.command("doctor")(doctor.doctor)
app.command("audit")(audit.audit)
app.command("why")(why.why)
app.command("diff")(diff.diff)
app.command("query")(query.query)
app.command("crate")(crate.crate)


@app.callback()
def vlmdx() -> None:
    """Beside the workflow (`snakemake …`): what to check before a run, and how to trust and question it after.

    Before: check-config, fetch, doctor. After, in the folder of the run: audit, why, diff, query, crate.
    """
