"""`vlmdx query`: SQL over all tables of a run."""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.cli.project import fail, in_run_folder, root

LONGEST = 1000  # rows that are printed


def query(
    sql: Annotated[str, typer.Argument(help="DuckDB SQL over the views of results/catalog.sql")],
    out: Annotated[Path | None, typer.Option(help="write the rows to this .csv or .parquet instead")] = None,
) -> None:
    """Ask the tables of the run in this folder. Ten worked queries: docs/queries.md. What there is: SHOW TABLES.

    A query changes nothing on disk; the ledger and the catalogue are brought up to date before it.
    """
    import duckdb

    from vlmdx.audit.catalog import connect
    from vlmdx.audit.rules import WorkflowFault
    from vlmdx.audit.run import CATALOG_FILE, catalog_is_current, refresh

    in_run_folder()
    if out and out.suffix not in (".csv", ".parquet"):
        raise fail(f"{out}: write to a .csv or a .parquet file")
    try:
        if not catalog_is_current():
            refresh(root())
        found = connect(Path(CATALOG_FILE).read_text(encoding="utf-8")).sql(sql)
        if found is None:
            return
        if out is None:
            found.show(max_rows=LONGEST, max_width=200)
        elif out.suffix == ".csv":
            found.write_csv(str(out))
        else:
            found.write_parquet(str(out), compression="zstd")
    except (duckdb.Error, WorkflowFault, OSError, ValueError) as error:
        raise fail(str(error)) from error
