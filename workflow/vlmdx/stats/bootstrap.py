"""Percentile bootstrap clustered by image: whole clusters are drawn, so questions on one image stay together.

A replicate is a vector of multinomial counts over the clusters, and every statistic here is a function of sums, so a
replicate costs one row of a matrix product (counts @ sums per cluster) and never touches the rows themselves.
Source: Davison & Hinkley, Bootstrap Methods and their Application (1997), sections 2.4 (ratio of sums), 3.8 (clusters).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Counts of one chunk of replicates plus their totals stay below this, whatever the number of clusters and columns.
CHUNK_BYTES = 64 * 2**20


class Interval(NamedTuple):
    """Value and interval of Q statistics; float64 arrays of shape (Q,), NaN where undefined (write it as NULL)."""

    value: Floats
    low: Floats
    high: Floats


def cluster_bootstrap(
    clusters: Sequence | NDArray,
    numerator: ArrayLike,
    denominator: ArrayLike | None = None,
    *,
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Ratios of sums, sum(numerator) / sum(denominator), with intervals clustered by ``clusters``.

    A mean is the ratio with denominator 1 per row; a share within a group has the group's indicator as denominator.
    Rows may already be sums per cluster. The result does not depend on the order of the rows.

    Args:
        clusters: (n,) cluster id of each row (image ids), sortable.
        numerator: (n,) or (n, Q); NaN marks a missing value, which then counts in neither sum.
        denominator: same shape, default all ones.
        replicates: number of bootstrap draws.
        confidence: two-sided level, e.g. 0.95.
        seed: of the draws; equal seeds and clusters give equal draws, so models can be compared pairwise.

    Returns:
        Interval of shape (Q,). ``value`` is NaN where the denominators sum to 0; ``low`` and ``high`` are NaN also
        where fewer than two clusters have a non-zero denominator, because their spread cannot be known. Replicates
        that draw no supporting cluster are left out.

    Raises:
        ValueError: no rows, shapes that differ, or a denominator that is negative or NaN.
    """
    top = _columns(numerator, "numerator")
    bottom = np.ones_like(top) if denominator is None else _columns(denominator, "denominator")
    if top.shape != bottom.shape:
        raise ValueError(f"numerator has shape {top.shape}, denominator {bottom.shape}; they must be equal")
    if not (bottom >= 0).all():
        raise ValueError("denominator holds a negative or missing number; a weight or an indicator is expected")
    bottom = np.where(np.isnan(top), 0.0, bottom)
    top = np.where(np.isnan(top), 0.0, top)
    width = top.shape[1]

    def ratio(totals: Floats) -> Floats:
        return _divide(totals[:, :width], totals[:, width:])

    interval = bootstrap_statistic(
        clusters, np.hstack([top, bottom]), ratio, replicates=replicates, confidence=confidence, seed=seed
    )
    _, supports = _cluster_sums(clusters, (bottom > 0).astype(np.float64))
    known = (supports > 0).sum(axis=0) >= 2
    return Interval(interval.value, np.where(known, interval.low, np.nan), np.where(known, interval.high, np.nan))


def bootstrap_statistic(
    clusters: Sequence | NDArray,
    columns: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Any function of column sums (a difference of ratios, an ECE) with its clustered percentile interval.

    Args:
        clusters: (n,) cluster id of each row.
        columns: (n,) or (n, M) finite numbers to be summed.
        statistic: maps totals (B, M) to values (B, Q) row by row, NaN where a row leaves them undefined.
        replicates: number of bootstrap draws.
        confidence: two-sided level.
        seed: of the draws.

    Returns:
        Interval of shape (Q,); ``low`` and ``high`` are NaN with a single cluster.

    Raises:
        ValueError: no rows, lengths that differ, a number that is not finite, or nonsense settings.
    """
    table = _columns(columns, "columns")
    if not 0 < confidence < 1 or replicates < 1:
        raise ValueError(f"confidence {confidence} must lie in (0, 1) and replicates {replicates} be at least 1")
    if not np.isfinite(table).all():
        raise ValueError("columns hold a number that is not finite; set such rows aside first")
    _, sums = _cluster_sums(clusters, table)
    value = statistic(sums.sum(axis=0, keepdims=True))[0]
    if len(sums) < 2:
        return Interval(value, np.full_like(value, np.nan), np.full_like(value, np.nan))
    generator = np.random.default_rng(seed)
    even = np.full(len(sums), 1 / len(sums))
    chunk = max(1, CHUNK_BYTES // (8 * (len(sums) + sums.shape[1])))
    drawn = [
        statistic(generator.multinomial(len(sums), even, size=min(chunk, replicates - start)).astype(np.float64) @ sums)
        for start in range(0, replicates, chunk)
    ]
    low, high = _percentiles(np.concatenate(drawn), confidence)
    return Interval(value, low, high)


def null_if_nan(number: float) -> float | None:
    """The number as Python float, or None (NULL) for NaN: no table of ours stores NaN."""
    return None if math.isnan(number) else float(number)


def _columns(values: ArrayLike, name: str) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"{name} has shape {np.shape(values)}; (n,) or (n, Q) with n >= 1 is expected")
    return table


def _cluster_sums(clusters: Sequence | NDArray, table: Floats) -> tuple[NDArray, Floats]:
    """Cluster ids (G,) in sorted order and the sums (G, M) of their rows."""
    ids, inverse = np.unique(np.asarray(clusters), return_inverse=True)
    if len(inverse) != len(table):
        raise ValueError(f"{len(inverse)} cluster ids for {len(table)} rows")
    # Floating-point sums depend on the order of their terms, so rows are put into an order that the input's order
    # cannot influence: by cluster, then by content.
    repeated = len(ids) < len(table)
    order = np.lexsort((*table.T, inverse)) if repeated else np.argsort(inverse)
    starts = np.searchsorted(inverse[order], np.arange(len(ids)))
    return ids, np.add.reduceat(table[order], starts, axis=0)


def _percentiles(samples: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Both ends of the central interval of each column of (B, Q), undefined replicates left out."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.full((2, samples.shape[1]), np.nan)
    whole = ~np.isnan(samples).any(axis=0)
    if whole.any():
        low[whole], high[whole] = np.quantile(samples[:, whole], tails, axis=0)
    for column in np.flatnonzero(~whole):
        defined = samples[~np.isnan(samples[:, column]), column]
        if len(defined):
            low[column], high[column] = np.quantile(defined, tails)
    return low, high


def _divide(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
