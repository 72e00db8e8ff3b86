"""Two verifiers on the same held-out questions: how far a verdict depends on who judges."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Answer, Question, Verifier
from vlmdx.discovery.screen import NOVEL, screen
from vlmdx.stats import bootstrap_statistic


def second_opinions(
    rollouts: pd.DataFrame, second: Verifier, pictures: Mapping[str, Picture], instructions: Sequence[str]
) -> list[dict[str, Any]]:
    """Ask a second verifier about the distinct held-out questions that reached the first, not past the screen.

    The answer is judged anew where both call the question valid; an invalid one has no right answer.

    Args:
        rollouts: columns ``phase, image_id, question, valid, criterion, answer, correct`` of ROLLOUTS.
        second: the other verifier.
        pictures: by image id.
        instructions: prompt files of the questioner, as text, for the screen.

    Returns:
        Rows of SECOND, sorted.
    """
    rows = rollouts[(rollouts["phase"] == "held-out") & (rollouts["criterion"] != NOVEL)]
    rows = rows.sort_values(["image_id", "question"], kind="stable").drop_duplicates(["image_id", "question"])
    images = {name: pictures[name].image for name in rows["image_id"].unique()}
    asked = [Question(i, images[i], q) for i, q in zip(rows["image_id"], rows["question"], strict=True)]
    passed = [all(screen(question, text) is None for text in instructions) for question in asked]
    rows, asked = rows[passed], [q for q, kept in zip(asked, passed, strict=True) if kept]
    if not asked:
        return []
    verdicts = [verdict.valid for verdict in second.validity(asked)]
    first = [None if pd.isna(v) else bool(v) for v in rows["valid"]]
    correct = [None if pd.isna(v) else bool(v) for v in rows["correct"]]
    both = [i for i, own in enumerate(first) if own and verdicts[i] and isinstance(rows["answer"].iloc[i], str)]
    answers = [Answer(rows["answer"].iloc[i], 0.0) for i in both]
    judged = second.judge([asked[i] for i in both], answers) if both else []
    said = {i: j.verdict for i, j in zip(both, judged, strict=True)}
    truth = {"correct": True, "incorrect": False}
    return [
        {
            "image_id": question.image_id,
            "question": question.text,
            "valid": first[i],
            "second_valid": verdicts[i],
            "correct": correct[i],
            "second_correct": truth.get(said.get(i, "")),
        }
        for i, question in enumerate(asked)
    ]


def agreement(rows: Sequence[Mapping[str, Any]], *, replicates: int, confidence: float, seed: int) -> pd.DataFrame:
    """Cohen's kappa (1960) of the two verifiers, on validity and on correctness.

    Args:
        rows: of SECOND.
        replicates, confidence, seed: of the bootstrap, clustered by image.

    Returns:
        One row per subject: ``subject, n, undecided`` (questions without a verdict of either one: for correctness, of
        those that both call valid), ``both, first_only, second_only, neither`` (yes-verdicts), ``agreement, kappa, low,
        high``; kappa is NaN where both give one and the same verdict to everything.
    """
    table = []
    for subject in ("valid", "correct"):
        asked = [r for r in rows if subject == "valid" or (r["valid"] and r["second_valid"])]
        decided = [r for r in asked if r[subject] is not None and r[f"second_{subject}"] is not None]
        line = {"subject": {"valid": "validity", "correct": "correctness"}[subject], "n": len(decided)}
        line["undecided"] = len(asked) - len(decided)
        pairs = np.array([[r[subject], r[f"second_{subject}"]] for r in decided], bool).reshape(-1, 2)
        a, b = pairs.T
        cells = np.stack([a & b, a & ~b, ~a & b, ~a & ~b], axis=1).astype(float)
        line |= dict(zip(("both", "first_only", "second_only", "neither"), cells.sum(0).astype(int), strict=True))
        value, low, high = np.full(3, np.nan)
        if decided:
            value, low, high = (
                float(end[0])
                for end in bootstrap_statistic(
                    [r["image_id"] for r in decided],
                    cells,
                    kappa,
                    replicates=replicates,
                    confidence=confidence,
                    seed=seed,
                )
            )
        table.append(line | {"agreement": float((a == b).mean()) if decided else np.nan, "kappa": value}
                     | {"low": low, "high": high})  # fmt: skip
    return pd.DataFrame(table)


def kappa(cells: np.ndarray) -> np.ndarray:
    """Cohen's kappa of counts (both, first only, second only, neither): float [B, 4] -> [B, 1], NaN where undefined."""
    both, first, second, neither = (cells / cells.sum(axis=1, keepdims=True)).T
    chance = (both + first) * (both + second) + (second + neither) * (first + neither)
    left = 1 - chance
    return np.divide(both + neither - chance, left, out=np.full_like(left, np.nan), where=left > 1e-12)[:, None]
