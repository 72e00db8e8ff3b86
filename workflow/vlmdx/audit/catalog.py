"""One catalogue for DuckDB: a view per contract over the Parquet files of a run, in the contract's own types.

The CSV tables that a run ends with are views too, under the name of their file; see :mod:`vlmdx.audit.csv_views`.

The files come from the records, never from a folder listing, so that shards of an earlier config, copies and half-made
files are not counted. What the contract does not hold but the path tells (model, item set, family) becomes a column of
literal text: a slug such as `007` stays text, and folders called `key=value` mean nothing.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from vlmdx.audit.csv_views import csv_view, is_table
from vlmdx.audit.ledger import LEDGER
from vlmdx.config import paths
from vlmdx.mechanism import tables as m
from vlmdx.schema import ContractError
from vlmdx.schema import tables as t
from vlmdx.schema.tables import Table

# view -> contract, paths that hold it. A wildcard becomes a column where the contract has none of that name.
VIEWS: dict[str, tuple[Table, tuple[str, ...]]] = {
    "items": (t.ITEMS, (paths.items("{itemset}"), paths.selection("rotations.parquet"))),
    "images": (t.IMAGES, (paths.images("{itemset}"),)),
    "rejected": (t.REJECTED, (paths.rejected("{itemset}"), paths.selection("rotations_rejected.parquet"))),
    "corrupted": (t.CORRUPTED, (paths.corrupted("{itemset}", "{family}"),)),
    "scores": (t.SCORES, (paths.scores("{model}", "{itemset}", "{family}"),)),
    "bench": (t.SELECTION, (paths.selection("bench.parquet"),)),
    "gini": (t.GINI, (paths.selection("gini.parquet"),)),
    "cells": (t.CELLS, (paths.reliability("{model}", "cells"),)),
    "trajectories": (t.TRAJECTORIES, (paths.reliability("{model}", "trajectories"),)),
    "summary": (t.SUMMARY, (paths.reliability("{model}", "summary"),)),
    "position": (t.POSITION, (paths.reliability("{model}", "position"),)),
    "set_aside": (t.SET_ASIDE, (paths.reliability("{model}", "set_aside"),)),
    "effects": (t.EFFECTS, (paths.mechanism("{model}", "{dataset}", "effects.parquet"),)),
    "control": (t.EFFECTS, (paths.mechanism("{model}", "{dataset}", "control.parquet"),)),
    "drawn": (t.ITEMS, (paths.operation_sample("{dataset}", "{operation}", "items.parquet"),)),
    "drawn_rejected": (t.REJECTED, (paths.operation_sample("{dataset}", "{operation}", "rejected.parquet"),)),
    "effects_rejected": (t.REJECTED, (paths.mechanism("{model}", "{dataset}", "rejected.parquet"),)),
    "asked": (m.ASKED, (paths.operation_effects("{model}", "{dataset}", "{operation}", "asked.parquet"),)),
    "pairs": (m.PAIRS, (paths.operation_sample("{dataset}", "{operation}", "pairs.parquet"),)),
    "probes": (m.PROBES, (paths.operation_effects("{model}", "{dataset}", "{operation}", "probes.parquet"),)),
    "vsr_effects": (m.VSR_EFFECTS, (paths.vsr("{model}", "{dataset}", "effects.parquet"),)),
    "vsr_control": (m.VSR_EFFECTS, (paths.vsr("{model}", "{dataset}", "control.parquet"),)),
    "rollouts": (t.ROLLOUTS, (paths.discovery("{run}", "rollouts.parquet"),)),
    "ledger": (LEDGER, ("results/provenance.parquet",)),
}
ROTATIONS = "circular"  # item set of the two files that stand beside the selection
TYPES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.binary(): "BLOB",
    pa.timestamp("ms", tz="UTC"): "TIMESTAMPTZ",
}


def catalog(files: Iterable[str]) -> str:
    """SQL text that creates the views over ``files``, paths as the run's folder sees them.

    Raises:
        ContractError: a file's columns or types are not its contract's, or a CSV file is none.
    """
    files = sorted(files)
    statements = [
        "-- Views over the Parquet files of this run. Start in the run's folder: duckdb -init results/catalog.sql",
        "-- Written from the records in results/provenance; a file without a record is not in it.",
    ]
    for view, (contract, patterns) in VIEWS.items():
        groups: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
        for file in files:
            if (found := _match(file, patterns)) is not None:
                extra = {k: v for k, v in found.items() if k not in contract.schema.names}
                check_schema(file, contract)
                groups[tuple(extra.items())].append(file)
        if groups:
            selects = [_select(contract, dict(extra), members) for extra, members in groups.items()]
            statements.append(f"CREATE OR REPLACE VIEW {view} AS\n" + "\nUNION ALL\n".join(selects) + ";")
    statements += [csv_view(file) for file in files if file.endswith(".csv")]
    return "\n\n".join(statements) + "\n"


def contract_of(file: str) -> Table | None:
    """The contract that a path must keep; None where it is no table of the catalogue."""
    return next((c for c, patterns in VIEWS.values() if _match(file, patterns) is not None), None)


def keys(view: str) -> tuple[str, ...]:
    """Columns that are unique together in a view: the contract's key, and what the path tells."""
    contract, patterns = VIEWS[view]
    wildcards = dict.fromkeys(re.findall(r"{(\w+)}", patterns[0]))
    return (*(w for w in wildcards if w not in contract.key and w != "family"), *contract.key)


def check_schema(file: str, contract: Table) -> None:
    """Compare a file's Arrow types with its contract: DuckDB would widen one shard to fit another without a word.

    Raises:
        ContractError: naming file, column and both types.
    """
    try:
        found = pq.read_schema(file)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise ContractError(f"{file}: not a readable Parquet file ({error}); run its job again") from error
    there, wanted = ({field.name: field.type for field in schema} for schema in (found, contract.schema))
    for name in {**wanted, **there}:
        if there.get(name) != wanted.get(name):
            raise ContractError(
                f"{file}: column {name!r} is {there.get(name)}, {contract.name} needs {wanted.get(name)}"
            )


def connect(sql: str) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the views; nobody else's lock can stand in the way."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(sql)
    return connection


def repeated_keys(connection: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
    """Number of repeated keys per view, for the views that have some."""
    listed = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    found = {}
    for view in {name for (name,) in listed} & set(VIEWS):
        columns = ", ".join(_name(column) for column in keys(view))
        query = f"SELECT count(*) FROM (SELECT {columns} FROM {view} GROUP BY ALL HAVING count(*) > 1)"
        ((number,),) = connection.execute(query).fetchall()
        if number:
            found[view] = number
    return found


def _match(file: str, patterns: Iterable[str]) -> dict[str, str] | None:
    for pattern in patterns:
        regex = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(pattern))
        if found := re.fullmatch(regex, file):
            groups = found.groupdict()
            return groups or ({"itemset": ROTATIONS} if "rotations" in pattern else {})
    return None


def _select(contract: Table, extra: Mapping[str, str], files: list[str]) -> str:
    literals = [f"{_text(value)}::VARCHAR AS {_name(name)}" for name, value in extra.items()]
    columns = [f"{_name(field.name)}::{_type(field.type)} AS {_name(field.name)}" for field in contract.schema]
    listed = ", ".join(map(_text, files))
    return (
        f"SELECT {', '.join([*literals, *columns])}\n"
        f"FROM read_parquet([{listed}], hive_partitioning = false, union_by_name = false)"
    )


def _type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"{_type(type_.value_type)}[]"
    if pa.types.is_struct(type_):
        return f"STRUCT({', '.join(f'{_name(field.name)} {_type(field.type)}' for field in type_)})"
    return TYPES[type_]


def _name(name: str) -> str:
    return f'"{name}"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def recorded_tables(records: Iterable[Mapping]) -> list[str]:
    """Parquet and CSV tables that the records claim and that exist, with the ledger if it was written."""
    claimed = {path for record in records for path in record["outputs"] if path.endswith(".parquet") or is_table(path)}
    return sorted(path for path in {*claimed, *VIEWS["ledger"][1]} if Path(path).is_file())
