"""`vlmdx query`: SQL over all tables of a run."""

from pathlib import Path
from typing import Annotated

import typer

from vlmdx.cli.project import fail, root

LONGEST = 1000  # rows that are printed


def query(
    sql: Annotated[str, typer.Argument(help="DuckDB SQL over the views of results/catalog.sql")],
    out: Annotated[Path | None, typer.Option(help="write the rows to this .csv or .parquet instead")] = None,
) -> None:
    """Ask the tables of the run in this folder; docs/queries.md holds examples. Nothing on disk is changed."""
    import duckdb

    from vlmdx.audit.catalog import connect
    from vlmdx.audit.rules import WorkflowFault
    from vlmdx.audit.run import CATALOG_FILE, catalog_is_current, write_catalog, write_ledger

    if out and out.suffix not in (".csv", ".parquet"):
        raise fail(f"{out}: write to a .csv or a .parquet file")
    try:
        if not catalog_is_current():
            write_ledger()
            write_catalog(root())
        found = connect(Path(CATALOG_FILE).read_text(encoding="utf-8")).sql(sql)
        if found is None:
            return
        if out is None:
            found.show(max_rows=LONGEST, max_width=200)
        elif out.suffix == ".csv":
            found.write_csv(str(out))
        else:
            found.write_parquet(str(out), compression="zstd")
    except (duckdb.Error, WorkflowFault, FileNotFoundError, ValueError) as error:
        raise fail(str(error)) from error
