"""The measures of reliability for one option distribution, as pure NumPy functions.

Definitions: Bench-C and the Robustness Alignment Score, arXiv 2511.19032. These functions are the reference; the
tables are computed by the same formulas in ``sql/answers.sql`` and ``sql/cells.sql``, and a test holds both equal.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def entropy(p: ArrayLike) -> Floats:
    """Normalised entropy S = -(1/ln K) sum_k p_k ln p_k, with 0 ln 0 = 0.

    Args:
        p: (..., K) probabilities of the K options of a question, K >= 2.

    Returns:
        (...) float64 in [0, 1]; 0 = certain, 1 = uniform.

    Raises:
        ValueError: K < 2 (ln K = 0), an entry that is not a probability, or a sum that is not 1.

    Source: arXiv 2511.19032, prediction uncertainty.
    """
    p = _distribution(p)
    terms = p * np.log(np.where(p > 0, p, 1.0))
    # Probabilities stored in float32 sum to 1 only within 1e-7, which can lift a uniform p that much above 1.
    return np.clip(-terms.sum(axis=-1) / np.log(p.shape[-1]), 0.0, 1.0)


def misalignment(p: ArrayLike, gold: ArrayLike, chosen: ArrayLike | None = None) -> Floats:
    """Calibration misalignment C = | max p - 1[answer = gold] |.

    Args:
        p: (..., K) probabilities.
        gold: (...) index of the right option.
        chosen: (...) index of the answer given; default the first maximum. Pass it where ties can occur, because a
            tie must be broken by the scorer's rule and not by position.

    Returns:
        (...) float64 in [0, 1]; lower is better aligned.

    Raises:
        ValueError: ``p`` is no distribution.

    Source: arXiv 2511.19032, prediction-correctness alignment.
    """
    p = _distribution(p)
    answer = p.argmax(axis=-1) if chosen is None else np.asarray(chosen)
    return np.abs(p.max(axis=-1) - (answer == np.asarray(gold)))


def ras(delta_s: ArrayLike, delta_c: ArrayLike) -> Floats:
    """Robustness Alignment Score = -dC - [dC]+ [-dS]+ - [-dC]+ [dS]+, with [x]+ = max(x, 0).

    The first product punishes overconfident degradation (alignment lost while certainty grew), the second wavering
    support (alignment won while certainty fell). A circulating text prints the first product twice; that version
    would range over [-3, 1] and cannot be meant.

    Args:
        delta_s: corrupted minus clean entropy S, in [-1, 1].
        delta_c: corrupted minus clean misalignment C, in [-1, 1].

    Returns:
        float64 in [-2, 1], broadcast over the arguments; higher is better aligned.

    Source: arXiv 2511.19032.
    """
    ds, dc = np.asarray(delta_s, dtype=np.float64), np.asarray(delta_c, dtype=np.float64)
    return -dc - np.maximum(dc, 0) * np.maximum(-ds, 0) - np.maximum(-dc, 0) * np.maximum(ds, 0)


def brier(p: ArrayLike, gold: ArrayLike) -> Floats:
    """Brier score sum_k (p_k - 1[k = gold])^2, in [0, 2].

    Args:
        p: (..., K) probabilities.
        gold: (...) index of the right option.

    Source: Brier 1950, Monthly Weather Review 78(1), the original form over all classes.
    """
    p = _distribution(p)
    target = np.asarray(gold)[..., None] == np.arange(p.shape[-1])
    return np.square(p - target).sum(axis=-1)


def ece(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """Expected calibration error: sum over bins of (rows in bin / rows) * | mean correct - mean confidence |.

    Args:
        confidence: (n,) max p of each answer.
        correct: (n,) whether the answer was right.
        bins: number of equal-width bins; bin b holds (b/bins, (b+1)/bins], 0 belongs to the first.

    Returns:
        A number in [0, 1]; lower is better calibrated.

    Raises:
        ValueError: no rows.

    Source: Guo et al. 2017, arXiv 1706.04599, equation 3.
    """
    confidence, correct = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if confidence.size == 0:
        raise ValueError("the calibration error of no answers is undefined")
    index = np.maximum(np.ceil(confidence * bins).astype(int) - 1, 0)
    gaps = np.bincount(index, weights=correct - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / confidence.size)


def _distribution(p: ArrayLike) -> Floats:
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] < 2:
        raise ValueError(f"a question needs at least two options, got probabilities of shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all() or not np.allclose(p.sum(axis=-1), 1.0, rtol=0, atol=1e-4):
        raise ValueError("probabilities must lie in [0, 1] and sum to 1 over the options")
    return p
