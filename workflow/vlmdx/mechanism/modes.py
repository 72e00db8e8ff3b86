"""Failure modes from the signature of an operation's effects (arXiv 2607.16094, Table 3; thresholds ours)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from vlmdx.mechanism.contrast import TESTS
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Kind

PRIOR, REASONING, GROUNDING, ATTRIBUTE = "language prior", "reasoning", "grounding", "attribute extraction"
UNASSIGNED = "unassigned"


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

    Beside the verdict: its signature, GS of both groups, q-values, and how it fares under other thresholds
    (``stability``: share of the settings of :func:`neighbours` with the same verdict; ``alternatives``: the others').
    """
    rows = []
    for operation, group in pathways.groupby("operation", sort=True):
        by_kind = {(row["intervention"], row["position"]): row for row in group.to_dict("records")}
        mode, signature = assign(by_kind, at)
        verdicts = [assign(by_kind, other)[0] for other in neighbours(at)]
        ablation = by_kind[MEAN_ABLATION]
        rows.append(
            {
                "model": model,
                "operation": operation,
                "n": ablation["n_correct"] + ablation["n_incorrect"],
                "d_ablation": ablation["d"],
                "d_attention": by_kind[ATTENTION_KNOCKOUT]["d"],
                "d_mlp_answer": by_kind[MLP_ANSWER]["d"],
                "accuracy": 100 * accuracy[str(operation)],
                "mode": mode,
                "signature": signature,
                "d_mlp_object": by_kind[MLP_OBJECT]["d"],
                "gs_correct": ablation["peak_correct"],
                "gs_incorrect": ablation["peak_incorrect"],
                "gs_random": ablation["peak_random"],
                "q_ablation": ablation[f"q_{at.test}"],
                "q_attention": by_kind[ATTENTION_KNOCKOUT][f"q_{at.test}"],
                "q_mlp_answer": by_kind[MLP_ANSWER][f"q_{at.test}"],
                "q_mlp_object": by_kind[MLP_OBJECT][f"q_{at.test}"],
                "stability": sum(v == mode for v in verdicts) / len(verdicts),
                "alternatives": "; ".join(sorted({v for v in verdicts if v != mode})),
            }
        )
    return pd.DataFrame(rows)


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


def _level(strength: float | None, at: Thresholds) -> str:
    if strength is None or pd.isna(strength):
        return "unknown"
    if strength < at.low:
        return "low"
    return "high" if strength >= at.high else "between"
