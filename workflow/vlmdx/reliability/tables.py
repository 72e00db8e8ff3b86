"""From the score shards of one model to its reliability tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from vlmdx.reliability.database import check_files, connect, records, run, to_contract
from vlmdx.reliability.summary import summarise
from vlmdx.schema import ContractError
from vlmdx.schema.tables import CELLS, ITEMS, POSITION, SCORES, SELECTION, SET_ASIDE, SUMMARY, TRAJECTORIES


@dataclass(frozen=True)
class ReliabilityTables:
    """The artifacts of one model, each as its contract says."""

    cells: pa.Table
    trajectories: pa.Table
    summary: pa.Table
    position: pa.Table
    set_aside: pa.Table


def reliability_tables(
    model: str,
    scores: Sequence[str],
    items: str,
    selection: str | None = None,
    *,
    families: Mapping[str, Sequence[str]],
    severities: Sequence[int],
    bootstrap: int,
    confidence: float,
    ece_bins: int,
    seed: int,
    letter_mass_min: float,
) -> ReliabilityTables:
    """Measure one model: cells, trajectories, aggregates with intervals, letter preference, and what was set aside.

    Every place of items x corruptions x severities becomes a cell or is set aside with a reason; a model without a
    single cell is an error.

    Args:
        model: slug, written into every row.
        scores: paths of the score shards, the clean one among them.
        items: path of the item table that holds the scored items.
        selection: path of the selected benchmark, where the scores are about that part of the items only.
        families: family -> names of its corruptions; a family "clean" is passed over.
        severities: configured severities, without 0.
        bootstrap: replicates of the bootstrap clustered by image.
        confidence: two-sided level of its intervals.
        ece_bins: equal-width bins of the calibration error.
        seed: of the bootstrap.
        letter_mass_min: letter mass below which an answer counts as flagged.

    Returns:
        The five tables.

    Raises:
        ContractError: a file breaks its contract; a score row is duplicated, unknown, contradicts its item, or is of
            another configuration; or every row of the model was set aside.
    """
    connection = measure(model, scores, items, selection, families, severities, letter_mass_min, ece_bins)
    summary = summarise(connection, model, bootstrap=bootstrap, confidence=confidence, ece_bins=ece_bins, seed=seed)
    run(connection, "position")
    return ReliabilityTables(
        cells=to_contract(connection, "measured", CELLS),
        trajectories=to_contract(connection, "trajectories", TRAJECTORIES),
        summary=pa.Table.from_pylist(summary, schema=SUMMARY.schema),
        position=to_contract(connection, "position", POSITION),
        set_aside=to_contract(connection, "set_aside", SET_ASIDE),
    )


def measure(
    model: str,
    scores: Sequence[str],
    items: str,
    selection: str | None,
    families: Mapping[str, Sequence[str]],
    severities: Sequence[int],
    letter_mass_min: float,
    ece_bins: int,
) -> duckdb.DuckDBPyConnection:
    """A database with the tables items, scores, answers, grid, measured, set_aside and trajectories; see ``sql/``.

    Raises:
        ContractError: as :func:`reliability_tables`.
    """
    check_files([items], ITEMS)
    check_files(scores, SCORES)
    connection = connect(
        {
            "model": model,
            "items": str(items),
            "scores": [str(path) for path in scores],
            "corruptions": [
                {"corruption": name, "family": family}
                for family, names in families.items()
                if family != "clean"
                for name in names
            ],
            "severities": sorted(severities),
            "letter_mass_min": letter_mass_min,
            "ece_bins": ece_bins,
        }
    )
    run(connection, "load")
    if selection:
        _select(connection, selection)
    run(connection, "answers", "checks")
    problems = records(connection, "SELECT * FROM problems")
    if problems:
        raise ContractError(f"model {model!r}: " + "\n  ".join(_describe(**problem) for problem in problems))
    run(connection, "cells")
    if not records(connection, "SELECT 1 FROM measured LIMIT 1"):
        raise ContractError(f"model {model!r}: every row was set aside, nothing to measure: {_reasons(connection)}")
    run(connection, "trajectories")
    return connection


def _select(connection: duckdb.DuckDBPyConnection, selection: str) -> None:
    check_files([selection], SELECTION)
    connection.execute("SET VARIABLE selection = $path", {"path": str(selection)})
    run(connection, "select")
    unknown = records(connection, "SELECT item_id FROM selected ANTI JOIN items USING (item_id) ORDER BY item_id")
    if unknown:
        raise ContractError(f"{selection}: {len(unknown)} selected items are not among the items, first {unknown[0]}")


def _describe(problem: str, item_id: str, corruption: str | None, severity: int | None, files: list[str]) -> str:
    place = f"item {item_id!r}" + (f", {corruption} at severity {severity}" if corruption else "")
    return f"{problem} ({place}{'; in ' + ', '.join(files) if files else ''})"


def _reasons(connection: duckdb.DuckDBPyConnection) -> str:
    query = "SELECT reason, count(*) AS n FROM set_aside GROUP BY reason ORDER BY n DESC, reason LIMIT 5"
    return "; ".join("{reason} ({n} rows)".format(**row) for row in records(connection, query)) or "there are no items"
