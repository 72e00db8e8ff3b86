"""The aggregates of one model: every metric a ratio of sums per image, with intervals clustered by image.

Aggregation is the mean over (item, corruption, severity), as ``all`` and per family, corruption and severity. Clean
figures are taken over the same cells, so that differences are exact; an item counts once per cell it has.
"""

from typing import Any

import duckdb
import numpy as np
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
    "set_aside_no_gold",
    "set_aside_clean_missing",
    "set_aside_clean_not_scored",
    "set_aside_missing",
    "set_aside_not_scored",
    "trajectories_incomplete",
)

Rows = list[dict[str, Any]]
Key = tuple[str, str]


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
    scopes = [(str(row["scope"]), str(row["level"])) for row in counts]
    images = [
        row["image_id"] for row in records(connection, "SELECT DISTINCT image_id FROM measured ORDER BY image_id")
    ]
    draws = {"replicates": bootstrap, "confidence": confidence, "seed": seed}
    rows = [
        _row(model, (row["scope"], row["level"]), name, row[name], row["set_aside" if "aside" in name else "cells"])
        for row in counts
        for name in COUNTS
        if row[name] is not None
    ]
    for table, metrics in (("cell_sums", CELL_METRICS), ("path_sums", PATH_METRICS)):
        found = records(connection, f"SELECT * FROM {table}")
        pairs = [
            (scope, metric) for scope in scopes if table == "cell_sums" or scope[0] != "severity" for metric in metrics
        ]
        top, bottom = _ratio_columns(found, images, pairs, metrics)
        interval = cluster_bootstrap(images, top, bottom, **draws)
        for index, (scope, metric) in enumerate(pairs):
            rows.append(_row(model, scope, metric, *_triple(interval, index), n=int(bottom[:, index].sum())))
    rows += _calibration(connection, model, scopes, images, ece_bins, draws)
    return rows


def _ratio_columns(found: Rows, images: list, pairs: list[tuple[Key, str]], metrics: dict) -> tuple[NDArray, NDArray]:
    """Numerators and denominators (images, pairs); images without a row in a scope contribute 0."""
    image_index = {image: i for i, image in enumerate(images)}
    pair_index = {pair: i for i, pair in enumerate(pairs)}
    top, bottom = np.zeros((2, len(images), len(pairs)))
    for record in found:
        for metric, (numerator, denominator) in metrics.items():
            place = image_index[record["image_id"]], pair_index[(record["scope"], record["level"]), metric]
            # A sum over no row is NULL in SQL; its denominator is 0, which is what makes the metric undefined.
            top[place] = record[numerator] or 0
            bottom[place] = record[denominator] or 0
    return top, bottom


def _calibration(connection, model: str, scopes: list[Key], images: list, bins: int, draws: dict) -> Rows:
    """Expected calibration errors: sum over bins of |sum (correct - confidence)|, over the number of cells."""
    keys = [(scope, metric) for scope in scopes for metric in CALIBRATION_METRICS]
    key_index = {key: i for i, key in enumerate(keys)}
    image_index = {image: i for i, image in enumerate(images)}
    gaps = np.zeros((len(images), len(keys), bins))
    cells = np.zeros((len(images), len(keys)))
    for record in records(connection, "SELECT * FROM bin_sums"):
        key = key_index[(record["scope"], record["level"]), record["metric"]]
        gaps[image_index[record["image_id"]], key, record["bin"]] = record["gap"]
    for record in records(connection, "SELECT scope, level, image_id, cells FROM cell_sums"):
        for metric in CALIBRATION_METRICS:
            place = image_index[record["image_id"]], key_index[(record["scope"], record["level"]), metric]
            cells[place] = record["cells"]

    def ece(totals: NDArray) -> NDArray:
        gap = np.abs(totals[:, : gaps[0].size].reshape(len(totals), len(keys), bins)).sum(axis=-1)
        count = totals[:, gaps[0].size :]
        return np.divide(gap, count, out=np.full_like(gap, np.nan), where=count > 0)

    interval = bootstrap_statistic(images, np.hstack([gaps.reshape(len(images), -1), cells]), ece, **draws)
    rows = []
    for index, (scope, metric) in enumerate(keys):
        value, low, high = _triple(interval, index)
        # One image alone shows no spread, as in cluster_bootstrap.
        lone = np.count_nonzero(cells[:, index]) < 2
        ends = (None, None) if lone else (low, high)
        rows.append(_row(model, scope, metric, value, *ends, n=int(cells[:, index].sum())))
    return rows


def _triple(interval: Interval, index: int) -> tuple[float | None, float | None, float | None]:
    value, low, high = (null_if_nan(part[index]) for part in interval)
    return value, low, high


def _row(model: str, scope: Key, metric: str, value, low=None, high=None, n: int = 0) -> dict[str, Any]:
    level = {"model": model, "scope": scope[0], "level": scope[1], "metric": metric}
    return {**level, "value": None if value is None else float(value), "low": low, "high": high, "n": n}
