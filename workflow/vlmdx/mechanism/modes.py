"""Failure modes from the signature of an operation's effects (arXiv 2607.16094, Table 3; thresholds ours)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from vlmdx.mechanism.contrast import TESTS
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Kind

PRIOR, REASONING, GROUNDING, ATTRIBUTE = "language prior", "reasoning", "grounding", "attribute extraction"
UNASSIGNED = "unassigned"
SHORT: dict[str, Kind] = {
    "ablation": MEAN_ABLATION,
    "attention": ATTENTION_KNOCKOUT,
    "mlp_answer": MLP_ANSWER,
    "mlp_object": MLP_OBJECT,
}
TABLE_3 = ("ablation", "attention", "mlp_answer")  # columns of the paper's table, in its order
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True)
class Thresholds:
    """What counts as low, high and significant (ours: the paper gives signatures without numbers).

    Attributes:
        low: mean GS below this is low, nats.
        high: mean GS at or above this is high, nats.
        alpha: level of the q-value.
        test: whose q-value decides: welch, mann_whitney or permutation.
        least: fewest items in each group for a verdict.
    """

    low: float = 0.5
    high: float = 0.5
    alpha: float = 0.05
    test: str = "permutation"
    least: int = 10

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(f"test {self.test!r}: expected one of {', '.join(TESTS)}")
        if not 0 <= self.low <= self.high:
            raise ValueError(f"thresholds of GS: low {self.low} must lie between 0 and high {self.high}")


Row = Mapping[str, Any]


def assign(rows: Mapping[Kind, Row], at: Thresholds) -> tuple[str, str]:
    """Failure mode of one operation and the signature it was read from.

    Tried in this order: language prior (mean GS of both groups low, nothing significant); reasoning (d < 0 significant
    for ablation and attention); grounding (d > 0 significant for ablation, attention not); attribute extraction (GS
    high in both groups, ablation not significant, an MLP effect is); else unassigned.

    Args:
        rows: the operation's rows of :func:`vlmdx.mechanism.contrast.pathways`, by intervention and position.
        at: thresholds.
    """
    sign = {kind: _sign(row, at) for kind, row in rows.items()}
    ablation, attention = sign[MEAN_ABLATION], sign[ATTENTION_KNOCKOUT]
    mlp = [sign[kind] for kind in (MLP_ANSWER, MLP_OBJECT)]
    strengths = [rows[MEAN_ABLATION][f"peak_{group}"] for group in ("correct", "incorrect")]
    counts = [int(rows[MEAN_ABLATION][f"n_{group}"]) for group in ("correct", "incorrect")]
    marks = {1: "+", 0: "0", -1: "-"}
    words = [f"{name} {marks[s]}" for name, s in zip(("ablation", "attention"), (ablation, attention), strict=True)]
    words += [f"{name} {marks[s]}" for name, s in zip(("mlp answer", "mlp object"), mlp, strict=True)]
    words += [f"GS {_level(s, at)} in {g}" for s, g in zip(strengths, ("correct", "incorrect"), strict=True)]
    if min(counts) < at.least:
        words.append(f"only {min(counts)} items in a group")
        return UNASSIGNED, ", ".join(words)
    significant = any(sign.values())
    if all(s < at.low for s in strengths) and not significant:
        mode = PRIOR
    elif ablation < 0 and attention < 0:
        mode = REASONING
    elif ablation > 0 and not attention:
        mode = GROUNDING
    elif all(s >= at.high for s in strengths) and not ablation and any(mlp):
        mode = ATTRIBUTE
    else:
        mode = UNASSIGNED
    return mode, ", ".join(words)


def failure_modes(model: str, pathways: pd.DataFrame, accuracy: Mapping[str, float], at: Thresholds) -> pd.DataFrame:
    """Rows in the layout of the paper's Table 3: d of ablation, attention and MLP at the answer, accuracy, mode.

    Beside each d its stars (q-value of the chosen test up to .05, .01, .001; the paper's own stars fit no test that
    we know). Beside the verdict: its signature, GS of both groups, q-values; the controls (GS and d of random image
    tokens outside the object, the identity's largest effect, d of ablation under shuffled correctness); and how the
    verdict fares under other thresholds (``stability``: share of the settings of :func:`neighbours` with the same
    verdict; ``alternatives``: the others').
    """
    rows = []
    for operation, by_kind in _by_operation(pathways):
        mode, signature = assign(by_kind, at)
        verdicts = [assign(by_kind, other)[0] for other in neighbours(at)]
        ablation = by_kind[MEAN_ABLATION]
        q = {name: by_kind[kind][f"q_{at.test}"] for name, kind in SHORT.items()}
        d, stars = {name: by_kind[kind]["d"] for name, kind in SHORT.items()}, _stars(q)
        rows.append(
            {
                "model": model,
                "operation": operation,
                "n": ablation["n_correct"] + ablation["n_incorrect"],
                **{f"{what}_{n}": of[n] for n in TABLE_3 for what, of in (("d", d), ("stars", stars))},
                "accuracy": 100 * accuracy[operation],
                "mode": mode,
                "signature": signature,
                "d_mlp_object": d["mlp_object"],
                "stars_mlp_object": stars["mlp_object"],
                "gs_correct": ablation["peak_correct"],
                "gs_incorrect": ablation["peak_incorrect"],
                **{f"q_{name}": value for name, value in q.items()},
                "gs_random": ablation["peak_random"],
                "d_random": ablation["d_random"],
                "identity": pd.Series([row["identity"] for row in by_kind.values()], dtype=float).max(),
                "shuffled_low": ablation["shuffled_low"],
                "shuffled_high": ablation["shuffled_high"],
                "stability": sum(v == mode for v in verdicts) / len(verdicts),
                "alternatives": "; ".join(sorted({v for v in verdicts if v != mode})),
            }
        )
    return pd.DataFrame(rows)


def sensitivity(model: str, pathways: pd.DataFrame, at: Thresholds) -> pd.DataFrame:
    """Verdict of each operation under each setting of :func:`neighbours`: model, operation, low, high, alpha, test,
    mode, and whether the setting is the configured one.
    """
    rows = []
    for operation, by_kind in _by_operation(pathways):
        for other in neighbours(at):
            named = {"low": other.low, "high": other.high, "alpha": other.alpha, "test": other.test}
            verdict = {"mode": assign(by_kind, other)[0], "configured": other == at}
            rows.append({"model": model, "operation": operation, **named, **verdict})
    return pd.DataFrame(rows)


def _by_operation(pathways: pd.DataFrame) -> Iterator[tuple[str, dict[Kind, Row]]]:
    for operation, group in pathways.groupby("operation", sort=True):
        rows = group.to_dict("records")
        yield str(operation), {(row["intervention"], row["position"]): row for row in rows}


def neighbours(at: Thresholds) -> list[Thresholds]:
    """Thresholds around ``at``: GS halved, kept and doubled, three levels, three tests."""
    return [
        replace(at, low=at.low * factor, high=at.high * factor, alpha=alpha, test=test)
        for factor, alpha, test in product((0.5, 1.0, 2.0), (0.01, 0.05, 0.1), TESTS)
    ]


def _sign(row: Row, at: Thresholds) -> int:
    """Sign of a significant d, else 0."""
    q, d = row[f"q_{at.test}"], row["d"]
    if q is None or d is None or pd.isna(q) or pd.isna(d) or q > at.alpha:
        return 0
    return 1 if d > 0 else -1


def _stars(q: Mapping[str, float | None]) -> dict[str, str]:
    """Stars of each q-value; none where it is missing."""
    return {
        name: next((s for level, s in STARS if value is not None and not pd.isna(value) and value <= level), "")
        for name, value in q.items()
    }


def _level(strength: float | None, at: Thresholds) -> str:
    if strength is None or pd.isna(strength):
        return "unknown"
    if strength < at.low:
        return "low"
    return "high" if strength >= at.high else "between"
