"""An in-memory DuckDB over Parquet shards, with the queries that stand in ``sql/``.

In memory, because a database file can be locked by any other process that has it open, even for reading. One thread,
because floating-point sums would otherwise depend on how the rows happen to be split.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from vlmdx.schema import ContractError, read_table
from vlmdx.schema.tables import Table

SQL = Path(__file__).parent / "sql"


def connect(variables: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """A database of its own in memory, with ``variables`` readable in SQL as ``getvariable('name')``.

    Values are bound, never pasted into text, so quotes, braces and ``$`` in a path need no escaping.
    """
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for name, value in variables.items():
        connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
    return connection


def run(connection: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Execute ``sql/{name}.sql`` one after the other; each leaves tables in the database."""
    for name in names:
        connection.execute((SQL / f"{name}.sql").read_text(encoding="utf-8"))


def records(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """The rows of a query as dicts; NULL is None."""
    return connection.sql(query).to_arrow_table().to_pylist()


def check_files(paths: Sequence[str], contract: Table) -> None:
    """Refuse unreadable files and foreign columns by file name, before DuckDB mixes the files.

    Raises:
        ContractError: no path, or a file that is missing, cut short or breaks ``contract``.
    """
    if not paths:
        raise ContractError(f"no {contract.name} file was given")
    for path in paths:
        read_table(path, contract, columns=contract.key[:1])


def to_contract(connection: duckdb.DuckDBPyConnection, table: str, contract: Table) -> pa.Table:
    """The columns of ``contract`` from a table of the database, in its order and types."""
    columns = ", ".join(f'"{name}"' for name in contract.schema.names)
    return connection.sql(f"SELECT {columns} FROM {table}").to_arrow_table().cast(contract.schema)
