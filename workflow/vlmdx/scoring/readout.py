"""From token logits to the rows of the score table: all numbers, no model.

Probabilities are computed in float64 from float32 logits, whatever the model's own precision: a softmax in bfloat16
makes false ties.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from vlmdx.scoring.question import Question, Readout
from vlmdx.scoring.rotate import base_id

NUMBERS = ("logit", "logprob", "prob", "logprob_full", "letter_mass", "text_sum", "text_mean", "chosen", "tied")


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Log-probabilities within ``scores`` (float64 [options])."""
    shifted = scores - scores.max()
    return shifted - np.log(np.exp(shifted).sum())


def choose(item_id: str, options: tuple[str, ...], prob: np.ndarray) -> tuple[int, bool]:
    """Index of the chosen option and whether it was tied.

    The choice is the largest float32 probability. Exactly equal ones are broken by a hash of item and option *text*:
    never by position, which would favour "A" (huggingface/transformers#26869). A rotated item is tied as its base item
    is, so that turning the options does not change which text is chosen.
    """
    leading = np.flatnonzero(prob == prob.max())
    rank = {i: hashlib.sha256(f"{base_id(item_id)}\0{options[i]}".encode()).digest() for i in leading.tolist()}
    return min(rank, key=lambda i: rank[i]), len(leading) > 1


def pick(logits: Tensor, normaliser: Tensor, target: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The few numbers of one option that the read-out needs.

    Args:
        logits: float32 [positions, vocabulary]; position t predicts the option's token t.
        normaliser: float32 [positions], log-sum-exp of the logits.
        target: ids of the option's tokens.

    Returns:
        float64 [tokens] logits of the tokens, and float64 [tokens] normalisers of their positions.
    """
    positions = list(range(len(target)))
    return logits[positions, list(target)].double().cpu().numpy(), normaliser[positions].double().cpu().numpy()


def columns_of(options: Sequence[tuple[np.ndarray, np.ndarray]], readout: Readout) -> dict[str, list[Any]]:
    """Columns of one question from the :func:`pick` of each of its options, in order."""
    with np.errstate(invalid="ignore", divide="ignore"):  # what is not finite is set aside by score_rows
        if readout == "letter":
            logits, normaliser = (np.array([pair[i][0] for pair in options]) for i in (0, 1))
            return letter_columns(logits, normaliser)
        return text_columns([logits - normaliser for logits, normaliser in options])


def letter_columns(logits: np.ndarray, normaliser: np.ndarray) -> dict[str, list[Any]]:
    """Letter read-out of one question.

    Args:
        logits: float64 [options], next-token logits of the options' letters.
        normaliser: float64 [options], log-sum-exp of the logits over the whole vocabulary.
    """
    full = logits - normaliser
    within = log_softmax(logits)
    return {
        "logit": logits.tolist(),
        "logprob": within.tolist(),
        "prob": np.exp(within).tolist(),
        "logprob_full": full.tolist(),
        "letter_mass": [float(np.exp(full).sum())] * len(logits),
    }


def text_columns(token_logprobs: list[np.ndarray]) -> dict[str, list[Any]]:
    """Text read-out of one question.

    The sum prefers short options, the mean long ones with a predictable tail; both are stored, and the probability is
    the softmax of the per-token mean.

    Args:
        token_logprobs: per option, float64 [tokens], full-vocabulary log-probability of each of its tokens in nats.
    """
    total = np.array([tokens.sum() for tokens in token_logprobs])
    mean = total / [len(tokens) for tokens in token_logprobs]
    within = log_softmax(mean)
    return {
        "logprob": within.tolist(),
        "prob": np.exp(within).tolist(),
        "text_sum": total.tolist(),
        "text_mean": mean.tolist(),
    }


def score_rows(
    question: Question, corruption: str, severity: int, image_tokens: int | None, columns: dict[str, list[Any]]
) -> list[dict[str, Any]]:
    """Rows of one scored question, one per option; a number that is not finite sets the whole question aside."""
    if not all(np.isfinite(values).all() for values in columns.values()):
        return failed_rows(question, corruption, severity, image_tokens, "non-finite logits")
    best, tied = choose(question.item_id, question.options, np.array(columns["prob"], np.float32))
    return [
        _row(question, corruption, severity, image_tokens, k)
        | {name: values[k] for name, values in columns.items()}
        | {"chosen": k == best, "tied": tied}
        for k in range(len(question.options))
    ]


def failed_rows(
    question: Question, corruption: str, severity: int, image_tokens: int | None, reason: str
) -> list[dict[str, Any]]:
    """Rows of a question that has no numbers in this cell, with the reason."""
    return [
        _row(question, corruption, severity, image_tokens, k) | {"reason": reason} for k in range(len(question.options))
    ]


def _row(question: Question, corruption: str, severity: int, image_tokens: int | None, k: int) -> dict[str, Any]:
    return dict.fromkeys(NUMBERS) | {
        "item_id": question.item_id,
        "corruption": corruption,
        "severity": severity,
        "option_index": k,
        "letter": question.letters[k],
        "is_gold": None if question.answer is None else k == question.answer,
        "image_tokens": image_tokens,
        "reason": None,
    }
