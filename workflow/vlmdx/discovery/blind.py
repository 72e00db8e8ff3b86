"""Blind-image control: does an answer depend on the image at all?

A question that is answered the same way to a grey image is no visual failure, whatever the verifier says: the answerer
did not fail to see, it did not look. The control asks every valid held-out question again without its image. The same
share among right answers stands beside it: a yes or no agrees by chance.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from vlmdx.discovery.answers import same_answer
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Answerer, Question
from vlmdx.stats import cluster_bootstrap

GREY = (128, 128, 128)


def asked_blind(rollouts: pd.DataFrame, answerer: Answerer, pictures: Mapping[str, Picture]) -> list[dict[str, Any]]:
    """Ask the valid held-out questions that have a verdict again, each with a grey image of its image's size.

    Args:
        rollouts: columns ``phase, image_id, question, valid, correct, answer`` of ROLLOUTS.
        answerer: of the run.
        pictures: by image id; of the image only the size is used.

    Returns:
        Rows of BLIND, one per distinct question, sorted.
    """
    rows = rollouts[
        (rollouts["phase"] == "held-out") & (rollouts["valid"] == True) & rollouts["correct"].notna()  # noqa: E712
    ]
    rows = rows.sort_values(["image_id", "question"], kind="stable").drop_duplicates(["image_id", "question"])
    grey = {name: Image.new("RGB", pictures[name].image.size, GREY) for name in rows["image_id"].unique()}
    asked = [Question(i, grey[i], q) for i, q in zip(rows["image_id"], rows["question"], strict=True)]
    said = answerer.answer(asked)
    return [
        {
            "image_id": question.image_id,
            "question": question.text,
            "correct": bool(correct),
            "answer": answer,
            "blind_answer": blind.text,
            "same": same_answer(answer, blind.text) or answer == blind.text,
        }
        for question, correct, answer, blind in zip(asked, rows["correct"], rows["answer"], said, strict=True)
    ]


def blind_shares(
    rollouts: pd.DataFrame, blind: Sequence[Mapping[str, Any]], *, replicates: int, confidence: float, seed: int
) -> pd.DataFrame:
    """How many failures of each method have nothing to do with the image, and what is left of its FDR.

    Args:
        rollouts: as for :func:`asked_blind`, with ``method``.
        blind: rows of BLIND.
        replicates, confidence, seed: of the bootstrap, clustered by image.

    Returns:
        One row per method and metric: ``method, metric, value, low, high, n``. ``same_failed`` and ``same_right``:
        share of wrong and of right answers that a grey image gets as well; ``fdr``; ``fdr_visual``: without the former.
    """
    same = {(row["image_id"], row["question"]): row["same"] for row in blind}
    held = rollouts[rollouts["phase"] == "held-out"]
    found = []
    for method, rows in held.groupby("method", sort=True):
        valid = (rows["valid"] == True).to_numpy()  # noqa: E712
        failed = (valid & (rows["correct"] == False).to_numpy()).astype(float)  # noqa: E712
        right = (valid & (rows["correct"] == True).to_numpy()).astype(float)  # noqa: E712
        keys = zip(rows["image_id"], rows["question"], strict=True)
        alike, ones = np.array([float(same.get(key, False)) for key in keys]), np.ones(len(rows))
        named = {
            "same_failed": (failed * alike, failed),
            "same_right": (right * alike, right),
            "fdr": (failed, ones),
            "fdr_visual": (failed * (1 - alike), ones),
        }
        for metric, (top, bottom) in named.items():
            interval = cluster_bootstrap(
                rows["image_id"].to_numpy(), top, bottom, replicates=replicates, confidence=confidence, seed=seed
            )
            value, low, high = (float(end[0]) for end in interval)
            found.append(
                {"method": method, "metric": metric, "value": value, "low": low, "high": high, "n": int(bottom.sum())}
            )
    return pd.DataFrame(found)
