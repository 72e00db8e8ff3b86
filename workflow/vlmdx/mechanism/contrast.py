"""Do effects differ between correctly and incorrectly answered items? Cohen's d, three tests, three controls.

GSS of arXiv 2607.16094 is d (pooled SD) of the per-item peak of mean ablation; the same for all four effects. The
paper's test is unnamed, so Welch's t, Mann-Whitney and a permutation test are all given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from vlmdx.mechanism.sample import KINDS, Kind
from vlmdx.stats.bootstrap import bootstrap_statistic, null_if_nan

Floats = NDArray[np.float64]
TESTS = ("welch", "mann_whitney", "permutation")


def peaks(effects: pd.DataFrame) -> pd.DataFrame:
    """Largest effect over layers of each item and intervention, and its layer.

    GS, the grounding strength of an item, is the peak of mean ablation (arXiv 2607.16094).

    Args:
        effects: rows of the effects contract.

    Returns:
        Columns item_id, operation, intervention, position, peak (nats), peak_layer, correct; of equal effects the
        earliest layer counts.
    """
    ordered = effects.sort_values(["item_id", "intervention", "position", "layer"], kind="stable")
    best = ordered.loc[ordered.groupby(["item_id", "intervention", "position"])["delta"].idxmax()]
    columns = ["item_id", "operation", "intervention", "position", "delta", "layer", "correct"]
    return best[columns].rename(columns={"delta": "peak", "layer": "peak_layer"}).reset_index(drop=True)


def cohen_d(right: Floats, wrong: Floats, axis: int = -1) -> Any:
    """Cohen's d, mean of right minus mean of wrong over the pooled SD (n - 1); NaN where it is not defined."""
    n, m = right.shape[axis], wrong.shape[axis]
    return _d(
        n, right.sum(axis), (right**2).sum(axis), m, wrong.sum(axis), (wrong**2).sum(axis)
    )  # fmt: skip


def contrast(
    peak: Sequence[float],
    correct: Sequence[bool],
    clusters: Sequence[str],
    *,
    resamples: int,
    confidence: float,
    seed: int,
) -> dict[str, float | None]:
    """Compare the peaks of correctly and incorrectly answered items.

    Args:
        peak: (n,) peak effects, nats.
        correct: (n,) right without intervention.
        clusters: (n,) image ids; the interval of d draws whole images.
        resamples: of the permutation test and of the bootstrap.
        confidence: level of the intervals.
        seed: of both.

    Returns:
        d with its interval, the p-value of each test, and the interval of d under shuffled correctness
        (``shuffled_low``, ``shuffled_high``); None where a group has fewer than two items or nothing varies.
    """
    values, right = np.asarray(peak, float), np.asarray(correct, bool)
    names = ["d", "d_low", "d_high", *(f"p_{test}" for test in TESTS), "shuffled_low", "shuffled_high"]
    if min(right.sum(), (~right).sum()) < 2 or values[right].std() + values[~right].std() == 0:
        return dict.fromkeys(names)
    groups = values[right], values[~right]
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    columns = np.stack([right, right * values, right * values**2, ~right, ~right * values, ~right * values**2], 1)
    interval = bootstrap_statistic(
        clusters,
        columns.astype(float),
        lambda totals: _d(*totals.T)[:, None],
        replicates=resamples,
        confidence=confidence,
        seed=seed,
    )
    permuted = stats.permutation_test(
        groups, cohen_d, vectorized=True, n_resamples=resamples, rng=np.random.default_rng(seed), batch=256
    )
    shuffled = np.nanquantile(permuted.null_distribution, tails)
    found = [
        interval.value[0],
        interval.low[0],
        interval.high[0],
        stats.ttest_ind(*groups, equal_var=False).pvalue,
        stats.mannwhitneyu(*groups).pvalue,
        permuted.pvalue,
        *shuffled,
    ]
    return {name: null_if_nan(float(value)) for name, value in zip(names, found, strict=True)}


def pathways(
    effects: pd.DataFrame,
    control: pd.DataFrame,
    images: Mapping[str, str],
    *,
    resamples: int,
    confidence: float,
    seed: int,
    kinds: Iterable[Kind] = KINDS,
) -> pd.DataFrame:
    """One row per operation and intervention: peaks of both groups, d, tests with false-discovery control, controls.

    Benjamini-Hochberg runs over all operations and interventions of the model, for each test by itself. The controls:
    ``peak_random`` and ``d_random`` are those of as many random image tokens outside the object, ``identity`` is the
    largest absolute effect of an edit that changes nothing (rounding, nats), ``shuffled_low`` and ``shuffled_high``
    hold d under shuffled correctness. NULL where a control was not run or does not apply.

    Args:
        effects: rows of the effects contract, one model.
        control: the same for random image tokens; may be empty.
        images: image id by item id.
        resamples, confidence, seed: see :func:`contrast`.
        kinds: interventions.
    """
    found, random = peaks(effects), peaks(control) if len(control) else control
    rows = []
    for operation, items in found.groupby("operation", sort=True):
        for intervention, position in kinds:
            group = items[(items["intervention"] == intervention) & (items["position"] == position)]
            if group.empty:
                continue
            rows.append(
                {
                    "operation": operation,
                    "intervention": intervention,
                    "position": position,
                    "n_correct": int(group["correct"].sum()),
                    "n_incorrect": int((~group["correct"]).sum()),
                    "peak_correct": _mean(group.loc[group["correct"], "peak"]),
                    "peak_incorrect": _mean(group.loc[~group["correct"], "peak"]),
                    "peak_layer": float(group["peak_layer"].median()),
                    **_controls(random, items, operation, intervention, position),
                    **contrast(
                        group["peak"].tolist(),
                        group["correct"].tolist(),
                        [images[i] for i in group["item_id"]],
                        resamples=resamples,
                        confidence=confidence,
                        seed=seed,
                    ),
                }
            )
    table = pd.DataFrame(rows)
    for test in TESTS:
        p = table[f"p_{test}"].astype(float)
        known = p.notna()
        q = pd.Series(np.nan, p.index)
        if known.any():
            q[known] = stats.false_discovery_control(p[known])
        table[f"q_{test}"] = q
    return table


def _controls(
    random: pd.DataFrame, items: pd.DataFrame, operation: Any, intervention: str, position: str
) -> dict[str, float | None]:
    """Control columns of one row; ``items`` are the operation's peaks, those of the identity among them."""
    found: dict[str, float | None] = {"peak_random": None, "d_random": None, "identity": None}
    if not random.empty:
        same = (random["operation"] == operation) & (random["intervention"] == intervention)
        group = random[same & (random["position"] == position)]
        found["peak_random"] = _mean(group["peak"])
        halves = [group.loc[group["correct"] == right, "peak"].to_numpy(float) for right in (True, False)]
        found["d_random"] = null_if_nan(float(cohen_d(*halves)))
    nothing = items[(items["intervention"] == "identity") & (items["position"] == position)]
    if len(nothing):
        found["identity"] = float(nothing["peak"].abs().max())
    return found


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if len(values) else None


def _d(n: Any, total: Any, squares: Any, m: Any, other_total: Any, other_squares: Any) -> Any:
    """d from counts, sums and sums of squares of both groups."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, other = total / n, other_total / m
        scatter = (squares - n * mean**2) + (other_squares - m * other**2)
        pooled = np.sqrt(np.maximum(scatter, 0) / (n + m - 2))
        d = (mean - other) / pooled
        return np.where((n >= 2) & (m >= 2) & (pooled > 1e-12), d, np.nan)
