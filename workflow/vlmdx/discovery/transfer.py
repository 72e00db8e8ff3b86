"""Discovered questions asked of other models: which failures are one model's own, and which are everybody's."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Answerer, Question, Verifier
from vlmdx.stats import cluster_bootstrap, null_if_nan


def transfer(
    failures: Sequence[Mapping[str, Any]],
    pictures: Sequence[Picture],
    answerer: Answerer,
    verifier: Verifier,
    *,
    run: str,
    model: str,
) -> list[dict[str, Any]]:
    """Ask ``answerer`` every question.

    Args:
        failures: rows of ROLLOUTS, each question once.
        pictures: of their images.
        answerer: the other model, or the run's own.
        verifier: the run's.
        run, model: written into every row.

    Returns:
        Rows of TRANSFER, in order; ``correct`` is None where the verifier could not decide.

    Raises:
        ValueError: no question.
    """
    if not failures:
        raise ValueError(f"run {run!r} discovered no question that could be asked of {model!r}")
    shown = {picture.image_id: picture.image for picture in pictures}
    questions = [Question(row["image_id"], shown[row["image_id"]], row["question"]) for row in failures]
    answers = answerer.answer(questions)
    found = []
    for question, answer, verdict in zip(questions, answers, verifier.judge(questions, answers), strict=True):
        correct = {"correct": True, "incorrect": False}.get(verdict.verdict)
        found.append(
            {
                "run": run,
                "model": model,
                "image_id": question.image_id,
                "question": question.text,
                "answer": answer.text,
                "reference": verdict.reference,
                "correct": correct,
            }
        )
    return found


def transfer_table(rows: pd.DataFrame, *, replicates: int, confidence: float, seed: int) -> pd.DataFrame:
    """Share of a run's discovered questions that each model fails, with its interval clustered by image.

    Args:
        rows: of TRANSFER, all runs and models; undecided ones count in no share.
        replicates, confidence, seed: of the bootstrap.

    Returns:
        ``run, model, questions, undecided, failed, failed_low, failed_high``, failed as a share.
    """
    found = []
    for (run, model), group in rows.groupby(["run", "model"], sort=True):
        decided = group[group["correct"].notna()]
        line = {"run": run, "model": model, "questions": len(group), "undecided": len(group) - len(decided)}
        if decided.empty:
            found.append({**line, "failed": None, "failed_low": None, "failed_high": None})
            continue
        failed = (decided["correct"] == False).to_numpy(float)  # noqa: E712 -- an object column
        interval = cluster_bootstrap(
            decided["image_id"], failed, replicates=replicates, confidence=confidence, seed=seed
        )
        value, low, high = (null_if_nan(float(end[0])) for end in interval)
        found.append({**line, "failed": value, "failed_low": low, "failed_high": high})
    return pd.DataFrame(found)
