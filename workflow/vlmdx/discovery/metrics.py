"""What a method of discovery reached on held-out images (arXiv 2604.04733, section 4; names stated, formulas ours).

All intervals are clustered by image, over all seeds of a method: ratios of sums by the bootstrap, everything else
(distances between questions, numbers of distinct things, for which a bootstrap that draws an image twice would be
wrong) by the delete-one-image jackknife.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from vlmdx.discovery.words import prefix
from vlmdx.stats import Interval, bootstrap_statistic, cluster_bootstrap

BASELINE = "zero-shot"
Embed = Callable[[Sequence[str]], np.ndarray]
Skills = Mapping[tuple[str, str], Sequence[str]]


def method_metrics(
    rows: pd.DataFrame,
    skills: Skills,
    embed: Embed,
    *,
    replicates: int,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """The metrics of each method of one run.

    Args:
        rows: held-out rows of `ROLLOUTS`, all methods and seeds of the run.
        skills: the skills of a failed question, by (image id, question).
        embed: texts -> float [n, d], rows of length 1.
        replicates: of the bootstrap.
        confidence: of all intervals.
        seed: of the bootstrap.

    Returns:
        One row per method and metric: ``method, metric, value, low, high, n``; n is the number of questions (or of
        failed ones) behind the value. ``fdr_gain`` is the paired difference of FDR to zero-shot on the same images.

    Raises:
        ValueError: a method has no questions, or not as many as zero-shot.
    """
    drawing = {"replicates": replicates, "confidence": confidence, "seed": seed}
    budgets = rows.groupby("method").size()
    if budgets.nunique() > 1:
        raise ValueError(f"methods have unequal numbers of held-out questions: {budgets.to_dict()}; run them again")
    found = []
    for method, group in rows.groupby("method", sort=True):
        for metric, interval, n in (
            *_ratios(group, skills, drawing),
            *_distinct(group, skills, embed, confidence),
            *_gain(rows, str(method), drawing),
        ):
            value, low, high = (float(np.atleast_1d(end)[0]) for end in interval)
            found.append({"method": method, "metric": metric, "value": value, "low": low, "high": high, "n": n})
    return pd.DataFrame(found)


def fdr_rows(rows: pd.DataFrame, skills: Skills, embed: Embed, methods: Sequence[str], **drawing: Any) -> pd.DataFrame:
    """The lines of one run in ``fdr_table.csv``.

    Args:
        rows: held-out rows of `ROLLOUTS`, all methods and seeds of the run.
        skills, embed, **drawing: as for :func:`method_metrics`.
        methods: order of the lines; all must be there.

    Returns:
        One row per method: ``method, images, questions, seeds``, and each metric with ``_low`` and ``_high``.

    Raises:
        ValueError: a method is missing, or no question of it has a verdict: its FDR would read as 0.
    """
    for method in methods:
        own = rows[rows["method"] == method]
        if own.empty:
            raise ValueError(f"method {method!r} has no held-out questions; run `ask_held_out` for it again")
        if own["valid"].isna().all() or not (own["correct"].notna() | (own["valid"] == False)).any():  # noqa: E712
            raise ValueError(
                f"method {method!r}: the verifier decided none of {len(own)} held-out questions, so there is no "
                "failure rate; see validity_detail and judgement_detail in rollouts.parquet, mend the verifier, and "
                "remove this method's held_out.parquet"
            )
    table = widen(method_metrics(rows, skills, embed, **drawing)).set_index("method")
    counted = rows.groupby("method")
    table.insert(0, "images", counted["image_id"].nunique())
    table.insert(1, "questions", counted.size())
    table.insert(2, "seeds", counted["seed"].nunique())
    return table.loc[list(methods)].reset_index()


def widen(long: pd.DataFrame) -> pd.DataFrame:
    """``method, metric, value, low, high, n`` -> one row per method: each metric, with ``_low`` and ``_high``."""
    lines: dict[str, dict[str, Any]] = {}
    for row in long.to_dict("records"):
        line, metric = lines.setdefault(row["method"], {"method": row["method"]}), row["metric"]
        line |= {metric: row["value"], f"{metric}_low": row["low"], f"{metric}_high": row["high"]}
    order = [f"{metric}{end}" for metric in long["metric"].unique() for end in ("", "_low", "_high")]
    return pd.DataFrame(lines.values())[["method", *order]]


def _failed(rows: pd.DataFrame) -> pd.Series:
    return (rows["valid"] == True) & (rows["correct"] == False)  # noqa: E712 -- NULL is neither


def _ratios(rows: pd.DataFrame, skills: Skills, drawing: dict):
    """FDR over all generated and over valid questions, validity, undecided share, prefixes per image sequence."""
    failed, valid = _failed(rows).to_numpy(float), (rows["valid"] == True).to_numpy(float)  # noqa: E712
    undecided = (rows["valid"].isna() | (rows["answer"].notna() & rows["correct"].isna())).to_numpy(float)
    first = ~rows.assign(p=rows["question"].map(prefix)).duplicated(["seed", "image_id", "p"])
    count = [
        len(skills.get((image, question), ()))
        for image, question in zip(rows["image_id"], rows["question"], strict=True)
    ]
    ones = np.ones(len(rows))
    named = {
        "fdr": (failed, ones),
        "fdr_valid": (failed, valid),
        "validity": (valid, ones),
        "undecided": (undecided, ones),
        "lexical_diversity": (first.to_numpy(float), ones),
        "skills_per_question": (np.array(count, float) * failed, failed),
    }
    for metric, (top, bottom) in named.items():
        yield metric, cluster_bootstrap(rows["image_id"], top, bottom, **drawing), int(bottom.sum())


def _gain(rows: pd.DataFrame, method: str, drawing: dict):
    """FDR minus zero-shot's, paired: both methods are drawn with the same images."""
    if method == BASELINE or not (rows["method"] == BASELINE).any():
        return
    pair = rows[rows["method"].isin([method, BASELINE])]
    own, failed = (pair["method"] == method).to_numpy(float), _failed(pair).to_numpy(float)
    columns = np.stack([own * failed, own, (1 - own) * failed, 1 - own], axis=1)

    def difference(totals: np.ndarray) -> np.ndarray:
        return (totals[:, 0] / totals[:, 1] - totals[:, 2] / totals[:, 3])[:, None]

    yield "fdr_gain", bootstrap_statistic(pair["image_id"], columns, difference, **drawing), int(own.sum())


def _distinct(rows: pd.DataFrame, skills: Skills, embed: Embed, confidence: float):
    """Semantic diversity, prefixes over all, skills covered and their combinations."""
    yield (
        "lexical_diversity_overall",
        jackknife(rows, lambda part: part["question"].map(prefix).nunique() / len(part), confidence),
        len(rows),
    )
    failed = rows[_failed(rows)]
    if len(failed) < 2:  # no pair, and nothing was covered
        nothing = Interval(*np.full((3, 1), np.nan))
        yield "semantic_diversity", nothing, len(failed)
    else:
        vectors = embed(list(failed["question"]))
        failed = failed.assign(at=np.arange(len(failed)))
        yield (
            "semantic_diversity",
            jackknife(failed, lambda part: 100 * spread(vectors[part["at"]]), confidence),
            len(failed),
        )

    def named(part: pd.DataFrame) -> list[Sequence[str]]:
        return [skills.get(key, ()) for key in zip(part["image_id"], part["question"], strict=True)]

    yield (
        "skill_coverage",
        jackknife(failed, lambda p: len({s for each in named(p) for s in each}), confidence),
        len(failed),
    )
    combinations = jackknife(failed, lambda p: len({tuple(sorted(each)) for each in named(p) if each}), confidence)
    yield "skill_combinations", combinations, len(failed)


def spread(vectors: np.ndarray) -> float:
    """Mean of 1 - cosine over all pairs; float [n, d], rows of length 1; NaN for fewer than two."""
    n = len(vectors)
    if n < 2:
        return float("nan")
    vectors = np.asarray(vectors, np.float64)
    return 1 - (np.square(vectors.sum(0)).sum() - np.square(vectors).sum()) / (n * (n - 1))


def jackknife(rows: pd.DataFrame, statistic: Callable[[pd.DataFrame], float], confidence: float) -> Interval:
    """A statistic with its delete-one-image interval (Efron & Tibshirani 1993, chapter 11); NaN ends for one image."""
    if rows.empty:
        return Interval(*(np.array([end]) for end in (0.0, np.nan, np.nan)))
    value = float(statistic(rows))
    images = rows["image_id"].unique()
    if len(images) < 2:
        return Interval(*(np.array([end]) for end in (value, np.nan, np.nan)))
    left_out = np.array([statistic(rows[rows["image_id"] != image]) for image in images], float)
    g = len(images)
    error = np.sqrt((g - 1) / g * np.square(left_out - left_out.mean()).sum())
    half = norm.ppf((1 + confidence) / 2) * error
    return Interval(*(np.array([end]) for end in (value, value - half, value + half)))
