"""Gini impurity of the voters' answers along the severities.

For an item, a voter and a corruption the answers a_0 (clean), a_1, ... a_S are option indices; with f_k the share of
option k, G = 1 - sum f_k^2. An item's G is the mean over all its whole trajectories, voters and corruptions alike.
A trajectory with an unscored answer is left out; an item without a whole one has no G (NULL, never 0).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from tqdm import tqdm

from vlmdx.schema import ContractError, read_table
from vlmdx.schema.names import CLEAN
from vlmdx.schema.tables import GINI, SCORES

COLUMNS = ("item_id", "corruption", "severity", "option_index", "chosen", "reason")

# Squares of counts are summed as integers, so that no order of rows or files can show in the result.
TRAJECTORIES = """
WITH answer AS (SELECT item_id, corruption, severity, option_index FROM scores WHERE chosen AND reason IS NULL),
wanted AS (SELECT DISTINCT corruption FROM scores WHERE corruption <> $clean),
along AS (
    SELECT item_id, corruption, option_index FROM answer WHERE corruption <> $clean
    UNION ALL
    SELECT item_id, wanted.corruption, option_index FROM answer, wanted WHERE answer.corruption = $clean
),
share AS (SELECT item_id, corruption, option_index, count(*) AS n FROM along GROUP BY ALL),
trajectory AS (
    SELECT item_id, corruption, sum(n)::BIGINT AS answers, sum(n * n)::BIGINT AS squares FROM share GROUP BY ALL
)
SELECT item_id, count(*)::BIGINT AS trajectories, sum(squares)::BIGINT AS squares
FROM trajectory WHERE answers = $length GROUP BY item_id ORDER BY item_id
"""
REPEATED = """
SELECT item_id, corruption, severity, option_index FROM scores GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1
"""
AMBIGUOUS = """
SELECT item_id, corruption, severity, count(*) FILTER (chosen) AS chosen FROM scores WHERE reason IS NULL
GROUP BY item_id, corruption, severity HAVING count(*) FILTER (chosen) <> 1 ORDER BY ALL LIMIT 1
"""


def gini_table(
    voters: Mapping[str, Sequence[str | Path]], item_ids: Sequence[str], severities: Sequence[int]
) -> pa.Table:
    """Gini impurity of every item of the pool.

    Args:
        voters: voter -> its SCORES shards on the pool (clean and every family).
        item_ids: the pool, each id once; the table keeps this order.
        severities: corrupted severities, without 0.

    Returns:
        A GINI table, one row per item of the pool.

    Raises:
        ContractError: no voter; an answer given twice; items that are not the pool's; a voter without clean answers;
            or voters scored under different corruptions or severities.
    """
    if not voters:
        raise ContractError("no voter is named, so there are no answers to select on")
    length = len(severities) + 1
    trajectories, squares, heard = (dict.fromkeys(item_ids, 0) for _ in range(3))
    cells: dict[str, set[tuple[str, int]]] = {}
    for voter, paths in tqdm(voters.items(), desc="Gini impurity", unit="voter"):
        with duckdb.connect(":memory:", config={"threads": 1}) as database:
            database.register("scores", _read(voter, paths))
            _refuse(voter, database, set(item_ids))
            cells[voter] = _cells(voter, database, severities)
            for item, count, square in database.execute(TRAJECTORIES, {"clean": CLEAN, "length": length}).fetchall():
                trajectories[item] += count
                squares[item] += square
                heard[item] += 1
    _agree(cells)
    values = [1 - squares[item] / (trajectories[item] * length**2) if trajectories[item] else None for item in item_ids]
    rows = {"item_id": list(item_ids), "gini": values, "voters": [heard[item] for item in item_ids]}
    return pa.table(rows, schema=GINI.schema)


def _read(voter: str, paths: Iterable[str | Path]) -> pa.Table:
    tables = [read_table(path, SCORES, columns=COLUMNS) for path in paths]
    if not tables or not sum(table.num_rows for table in tables):
        raise ContractError(f"voter {voter}: no score in its shards; score it again or take it off the list of voters")
    return pa.concat_tables(tables)


def _refuse(voter: str, database: duckdb.DuckDBPyConnection, pool: set[str]) -> None:
    """Raise where the shards are not one whole and unambiguous set of answers to the pool."""
    scored = {item for (item,) in database.execute("SELECT DISTINCT item_id FROM scores").fetchall()}
    for odd, words in ((scored - pool, "scored and not in the pool"), (pool - scored, "in the pool and not scored")):
        if odd:
            raise ContractError(
                f"voter {voter}: {len(odd)} item(s) are {words}, e.g. {min(odd)}; its shards are of another pool, "
                "score it again"
            )
    if row := database.execute(REPEATED).fetchone():
        raise ContractError(
            f"voter {voter}: item {row[0]} under {row[1]} {row[2]}, option {row[3]} is scored twice; "
            "a shard is there as a copy"
        )
    if row := database.execute(AMBIGUOUS).fetchone():
        raise ContractError(
            f"voter {voter}: item {row[0]} under {row[1]} {row[2]} has {row[3]} chosen options, not one"
        )


def _cells(voter: str, database: duckdb.DuckDBPyConnection, severities: Sequence[int]) -> set[tuple[str, int]]:
    """The (corruption, severity) cells of a voter, after checking that they are whole."""
    cells = set(database.execute("SELECT DISTINCT corruption, severity FROM scores").fetchall())
    corruptions = {name for name, _ in cells} - {CLEAN}
    expected = {(CLEAN, 0)} | {(name, severity) for name in corruptions for severity in severities}
    if cells != expected or not corruptions:
        missing, extra = sorted(expected - cells), sorted(cells - expected)
        raise ContractError(
            f"voter {voter}: its shards must hold clean and every corruption at severities {list(severities)}; "
            f"missing {missing or ('nothing' if corruptions else 'every corruption')}, not wanted {extra or 'nothing'}"
        )
    return cells


def _agree(cells: Mapping[str, set[tuple[str, int]]]) -> None:
    first, *others = cells
    for other in others:
        if differing := sorted(cells[first] ^ cells[other]):
            raise ContractError(f"voters {first} and {other} were scored under different cells, e.g. {differing[0]}")
