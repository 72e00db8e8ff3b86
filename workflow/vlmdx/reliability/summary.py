"""The aggregates of one model: every metric a ratio of sums per image, with intervals clustered by image.

Aggregation is the mean over (item, corruption, severity), as ``all`` and per family, corruption and severity. Clean
figures are taken over the same cells, so that differences are exact; an item counts once per cell it has.
"""

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vlmdx.reliability.database import records, run
from vlmdx.stats import Interval, bootstrap_statistic, cluster_bootstrap, null_if_nan

STATES = ("cc", "cw", "wc", "ww")

# metric: (numerator, denominator), columns of cell_sums in sql/sums.sql.
CELL_METRICS = {
    "accuracy_clean": ("correct_clean", "cells"),
    "accuracy_corrupted": ("correct", "cells"),
    "accuracy_delta": ("correct_change", "cells"),
    "delta_s": ("delta_s", "cells"),
    "delta_c": ("delta_c", "cells"),
    "ras": ("ras", "cells"),
    # Source attribution: weighted by share, so destructive + corrective = ras.
    "destructive": ("ras_right", "cells"),
    "corrective": ("ras_wrong", "cells"),
    "ras_given_correct_clean": ("ras_right", "right_cells"),
    "ras_given_wrong_clean": ("ras_wrong", "wrong_cells"),
    # State attribution: share, mean within the state, and the product of both, which adds up to ras over the states.
    **{f"share_{state}": (f"cells_{state}", "cells") for state in STATES},
    **{f"ras_{state}": (f"ras_{state}", f"cells_{state}") for state in STATES},
    **{f"contribution_{state}": (f"ras_{state}", "cells") for state in STATES},
    # Silent degradation: still right (cc), yet negative RAS. Share of all cells; then the mean RAS of those cells.
    "silent_degradation": ("silent_cells", "cells"),
    "silent_degradation_ras": ("silent_ras", "silent_cells"),
    # Lucky gain is the paper's name for the state wc.
    "lucky_gain": ("cells_wc", "cells"),
    "lucky_gain_ras": ("ras_wc", "cells_wc"),
    "brier_clean": ("brier_clean", "cells"),
    "brier_corrupted": ("brier", "cells"),
    "nll_clean": ("nll_clean", "cells"),
    "nll_corrupted": ("nll", "cells"),
    "tied_clean": ("tied_clean", "cells_tied_clean"),
    "tied": ("tied", "cells_tied"),
    "letter_mass_clean": ("letter_mass_clean", "cells_letter_clean"),
    "letter_mass": ("letter_mass", "cells_letter"),
    "letter_mass_low": ("letter_mass_low", "cells_letter"),
}
# The same over path_sums; not in the scopes of one severity, because a trajectory runs over all of them.
PATH_METRICS = {
    "transient": ("transient", "paths"),
    "persistent": ("persistent", "paths"),
    "mean_onset": ("onset", "changed"),
    "mean_flips": ("flips", "paths"),
}
CALIBRATION_METRICS = ("ece_clean", "ece_corrupted")
COUNTS = (
    "items",
    "images",
    "cells",
    "set_aside",
    "cells_set_aside",
    "set_aside_no_gold",
    "set_aside_clean_missing",
    "set_aside_clean_not_scored",
    "set_aside_missing",
    "set_aside_not_scored",
    "trajectories_incomplete",
)

Rows = list[dict[str, Any]]
Scope = tuple[str, str]


def summarise(
    connection: duckdb.DuckDBPyConnection, model: str, *, bootstrap: int, confidence: float, ece_bins: int, seed: int
) -> Rows:
    """Rows of the ``summary`` contract from the database filled by :func:`vlmdx.reliability.tables.measure`.

    Every scope is computed from the same bootstrap draws of images, so that scopes can be compared. A level without
    cells keeps its rows, with NULL and n = 0.

    Args:
        connection: database after load, answers, cells and trajectories.
        model: slug to write.
        bootstrap: replicates.
        confidence: two-sided level of the intervals.
        ece_bins: equal-width confidence bins of the calibration error.
        seed: of the draws.

    Returns:
        One dict per (scope, level, metric).
    """
    run(connection, "sums", "counts")
    counts = records(connection, "SELECT * FROM counts")
    rows = [
        _row(
            model,
            (row["scope"], row["level"]),
            name,
            row[name],
            n=row["cells_set_aside" if "aside" in name else "cells"],
        )
        for row in counts
        for name in COUNTS
        for base in ["cells_set_aside" if "aside" in name else "cells"]
        if row[name] is not None
    ]
    draws: dict[str, Any] = {"replicates": bootstrap, "confidence": confidence, "seed": seed}
    images = connection.sql("SELECT DISTINCT image_id FROM measured ORDER BY image_id").to_arrow_table()["image_id"]
    scopes = [(row["scope"], row["level"]) for row in counts]
    for table, metrics in (("cell_sums", CELL_METRICS), ("path_sums", PATH_METRICS)):
        within = [scope for scope in scopes if table == "cell_sums" or scope[0] != "severity"]
        sums = _per_image(connection, table, images, within)
        top, bottom = (
            np.stack([sums[pair[side]] for pair in metrics.values()], axis=-1).reshape(len(images), -1)
            for side in (0, 1)
        )
        interval = cluster_bootstrap(images.to_numpy(), top, bottom, **draws)
        keys = [(scope, metric) for scope in within for metric in metrics]
        rows += _rows(model, keys, interval, bottom)
    return rows + _calibration(connection, model, scopes, images, ece_bins, draws)


def _per_image(
    connection: duckdb.DuckDBPyConnection, table: str, images: pa.ChunkedArray, scopes: list[Scope]
) -> dict[str, NDArray[np.float64]]:
    """Each column of a table of sums as (images, scopes); images without a row in a scope contribute 0."""
    found = connection.sql(f"SELECT * FROM {table}").to_arrow_table()
    place = pc.index_in(found["image_id"], value_set=images).to_numpy()
    index = {scope: number for number, scope in enumerate(scopes)}
    scope = np.array([index[key] for key in zip(*(found[c].to_pylist() for c in ("scope", "level")), strict=True)], int)
    columns = {}
    for name in found.column_names[3:]:
        columns[name] = np.zeros((len(images), len(scopes)))
        # A sum over no row is NULL in SQL; its denominator is 0, which is what leaves the metric undefined.
        columns[name][place, scope] = pc.fill_null(found[name].cast(pa.float64()), 0.0).to_numpy()
    return columns


def _calibration(connection, model: str, scopes: list[Scope], images: pa.ChunkedArray, bins: int, draws: dict) -> Rows:
    """Expected calibration errors: sum over bins of |sum (correct - confidence)|, over the number of cells.

    Resampling adds noise to every bin and the absolute value turns noise into error, so the interval leans upwards,
    the more the fewer images there are; it tells the spread, and is no test of perfect calibration.
    """
    keys = [(scope, metric) for scope in scopes for metric in CALIBRATION_METRICS]
    index = {key: number for number, key in enumerate(keys)}
    place = {image: number for number, image in enumerate(images.to_pylist())}
    gaps = np.zeros((len(images), len(keys), bins))
    for row in records(connection, "SELECT * FROM bin_sums"):
        gaps[place[row["image_id"]], index[(row["scope"], row["level"]), row["metric"]], row["bin"]] = row["gap"]
    cells = _per_image(connection, "cell_sums", images, scopes)["cells"].repeat(len(CALIBRATION_METRICS), axis=1)

    def ece(totals: NDArray) -> NDArray:
        gap = np.abs(totals[:, : len(keys) * bins].reshape(len(totals), len(keys), bins)).sum(axis=-1)
        count = totals[:, len(keys) * bins :]
        return np.divide(gap, count, out=np.full_like(gap, np.nan), where=count > 0)

    columns = np.hstack([gaps.reshape(len(images), -1), cells])
    return _rows(model, keys, bootstrap_statistic(images.to_numpy(), columns, ece, **draws), cells)


def _rows(model: str, keys: list[tuple[Scope, str]], interval: Interval, support: NDArray) -> Rows:
    """One row per key; ``support`` (images, keys) counts the rows behind each value."""
    rows = []
    for number, (scope, metric) in enumerate(keys):
        value, low, high = (null_if_nan(part[number]) for part in interval)
        # The spread over images cannot be known from one image.
        ends = (low, high) if np.count_nonzero(support[:, number]) > 1 else (None, None)
        rows.append(_row(model, scope, metric, value, *ends, n=int(support[:, number].sum())))
    return rows


def _row(model: str, scope: Scope, metric: str, value, low=None, high=None, n: int = 0) -> dict[str, Any]:
    key = {"model": model, "scope": scope[0], "level": scope[1], "metric": metric}
    return {**key, "value": None if value is None else float(value), "low": low, "high": high, "n": n}
