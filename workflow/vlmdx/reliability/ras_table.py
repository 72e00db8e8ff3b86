"""The results a user asks for: one row per model, the same by severity and by corruption, and letter preference."""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from vlmdx.reliability.database import check_files, connect, records, run
from vlmdx.schema import ContractError, atomic
from vlmdx.schema.tables import POSITION, SUMMARY

# Readers rely on this order: what was measured, the score and where it comes from, calibration, then the rest.
SOURCES = ("destructive", "corrective")
SHARES = ("share_cc", "share_cw", "share_wc", "share_ww", "ras_cc", "ras_cw", "ras_wc", "ras_ww")
CALIBRATION = ("ece_clean", "ece_corrupted", "brier_clean", "brier_corrupted", "nll_clean", "nll_corrupted")
MEASURES = (
    *("accuracy_clean", "accuracy_corrupted", "accuracy_delta", "delta_s", "delta_c", "ras", "ras_low", "ras_high"),
    *(*SOURCES, *SHARES, *CALIBRATION, "silent_degradation", "lucky_gain"),
)
PATHS = ("transient", "persistent", "mean_onset", "mean_flips")
READOUT = ("tied", "letter_mass", "letter_mass_low")
DETAIL = (
    *("ras_given_correct_clean", "ras_given_wrong_clean"),
    *("contribution_cc", "contribution_cw", "contribution_wc", "contribution_ww"),
    *("silent_degradation_ras", "lucky_gain_ras"),
)
COUNTED = ("images", "cells", "cells_set_aside")
REASONS = tuple(
    f"set_aside_{code}" for code in ("no_gold", "clean_missing", "clean_not_scored", "missing", "not_scored")
)
COUNTS = {"items", "set_aside", "trajectories_incomplete", *COUNTED, *REASONS}

TABLE = (
    *("model", "items", "set_aside", *MEASURES, "transient", "persistent", "position_bias", *READOUT),
    *("mean_onset", "mean_flips", *DETAIL, *COUNTED, *REASONS, "trajectories_incomplete"),
)
BY_CORRUPTION = ("model", "family", "corruption", "items", "set_aside", *MEASURES, *PATHS, *READOUT, *DETAIL, *COUNTED)
BY_SEVERITY = ("model", "severity", "items", "set_aside", *MEASURES, *READOUT, *DETAIL, *COUNTED)
POSITION_BIAS = (*POSITION.schema.names, "position_bias")

Rows = list[dict[str, Any]]


class ResultTables(NamedTuple):
    """Rows of the four CSV files; a missing value is None."""

    table: Rows
    by_severity: Rows
    by_corruption: Rows
    position_bias: Rows


def result_tables(
    summaries: Sequence[str], positions: Sequence[str], models: Sequence[str], families: Mapping[str, Sequence[str]]
) -> ResultTables:
    """Gather the summaries of all models.

    Args:
        summaries: paths of ``summary`` tables, one per model.
        positions: paths of ``position`` tables, one per model.
        models: slugs in the order they are to be listed.
        families: family -> names of its corruptions, in the order they are to be listed.

    Raises:
        ContractError: a file breaks its contract, or the models in the files are not exactly ``models``, each once.
    """
    check_files(summaries, SUMMARY)
    check_files(positions, POSITION)
    connection = connect({"summaries": [str(p) for p in summaries], "positions": [str(p) for p in positions]})
    run(connection, "ras_table")
    wide = records(connection, "SELECT * FROM wide")
    letters = records(connection, "SELECT * FROM positions")
    for paths, table in ((summaries, "summary"), (positions, "positions")):
        found = [row["model"] for row in records(connection, f"SELECT DISTINCT model FROM {table}")]
        if sorted(found) != sorted(models) or len(paths) != len(models):
            raise ContractError(
                f"{table}: the files hold the models {sorted(found)} in {len(paths)} files, the configuration names "
                f"{sorted(models)}; each model needs one file with rows: {', '.join(map(str, paths))}"
            )
    rows = {(row["model"], row["scope"], row["level"]): row for row in wide}
    severities = sorted({int(row["level"]) for row in wide if row["scope"] == "severity"})
    corruptions = [(family, name) for family, names in families.items() for name in names if family != "clean"]
    return ResultTables(
        table=[_pick(rows, model, "all", "all", TABLE) for model in models],
        by_severity=[
            _pick(rows, model, "severity", str(severity), BY_SEVERITY, severity=severity)
            for model in models
            for severity in severities
        ],
        by_corruption=[
            _pick(rows, model, "corruption", name, BY_CORRUPTION, family=family, corruption=name)
            for model in models
            for family, name in corruptions
        ],
        position_bias=[
            {name: row[name] for name in POSITION_BIAS} for model in models for row in letters if row["model"] == model
        ],
    )


def _pick(
    rows: Mapping[tuple, dict], model: str, scope: str, level: str, columns: Iterable[str], **labels: Any
) -> dict[str, Any]:
    if (model, scope, level) not in rows:
        raise ContractError(f"model {model!r}: its summary has no {scope} {level!r}; run its reliability job again")
    known = {**rows[model, scope, level], **labels}
    picked = {name: known.get(name) for name in columns}
    return {n: int(v) if n in COUNTS and v is not None else v for n, v in picked.items()}


def write_csv(path: str | os.PathLike, rows: Rows) -> None:
    """Write rows as CSV: floats so that reading them gives the same float64, missing values empty.

    Raises:
        ContractError: no rows, or a value that is NaN or infinite.
    """
    if not rows:
        raise ContractError(f"{path}: there is no row to write")
    for row in rows:
        wrong = [name for name, value in row.items() if isinstance(value, float) and not abs(value) < float("inf")]
        if wrong:
            raise ContractError(f"{path}: {wrong} of model {row['model']!r} is not finite; missing values are None")
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
