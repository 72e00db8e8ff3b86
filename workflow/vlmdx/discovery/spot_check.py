"""A sample of held-out questions for a person to judge, without the verifier's verdicts in view."""

import hashlib
from typing import Any

import pandas as pd

BLANKS = ("valid", "criterion", "correct", "right_answer", "remarks")  # for the person to fill in
SHARES = {"failed": 0.5, "right": 0.25, "invalid": 0.25}  # ours: what is reported rests on the failed ones


def draw_sample(rollouts: pd.DataFrame, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw distinct held-out questions: half failed, a quarter right, a quarter invalid; others where a kind runs out.

    Args:
        rollouts: of ROLLOUTS.
        n: questions.
        seed: of the draw, which depends on it and on image id and question alone.

    Returns:
        The sheet (``number, image, image_id, question, answer`` and empty columns), in mixed order, and its key
        (``number, image_id, question, methods, outcome, criterion, reference, validity_detail, judgement_detail``).

    Raises:
        ValueError: no held-out question.
    """
    held = rollouts[rollouts["phase"] == "held-out"]
    if held.empty:
        raise ValueError("no held-out question to check")
    methods = held.groupby(["image_id", "question"])["method"].agg(lambda m: " ".join(sorted(set(m))))
    rows = held.sort_values(["image_id", "question", "method", "seed"]).drop_duplicates(["image_id", "question"])
    rows = rows.assign(outcome=rows.apply(outcome, axis=1), methods=list(methods))
    rows["rank"] = [_rank(seed, i, q) for i, q in zip(rows["image_id"], rows["question"], strict=True)]
    rows = rows.sort_values("rank")
    parts = [rows[rows["outcome"] == kind].head(round(share * n)) for kind, share in SHARES.items()]
    chosen = pd.concat(parts)
    rest = rows.drop(chosen.index)
    chosen = pd.concat([chosen, rest.head(max(0, n - len(chosen)))]).sort_values("rank").head(n)
    chosen = chosen.assign(number=range(1, len(chosen) + 1))
    chosen["image"] = [f"images/{number:03}.png" for number in chosen["number"]]
    sheet = chosen[["number", "image", "image_id", "question", "answer"]].assign(**dict.fromkeys(BLANKS, ""))
    key = ["number", "image_id", "question", "methods", "outcome", "criterion", "reference"]
    return sheet, chosen[[*key, "validity_detail", "judgement_detail"]]


def outcome(row: Any) -> str:
    """What became of a question: invalid, undecided, right or failed."""
    if pd.isna(row["valid"]) or (row["valid"] and pd.isna(row["correct"])):
        return "undecided"
    return "invalid" if not row["valid"] else "right" if row["correct"] else "failed"


def _rank(seed: int, image_id: str, question: str) -> str:
    return hashlib.sha256(f"{seed}\x1fspot check\x1f{image_id}\x1f{question}".encode()).hexdigest()
