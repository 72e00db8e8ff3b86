"""`log.csv` of a training run: one line per optimizer step, appended as it happens, cut back at a resume."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlmdx.discovery.panel import Row, signal, undecided
from vlmdx.schema import atomic

COLUMNS = (
    "step",  # optimizer step, from 1
    "questions",  # generated in this step
    "reward",  # mean over decided questions
    "reward_std",  # over decided questions
    "semantic",  # mean of 1 - largest cosine to a failed question
    "lexical",  # mean of 1 - relative frequency of the first two words
    "delta",  # mean diversity
    "penalty",  # mean P
    "valid",  # share of questions that are valid
    "failed",  # share of questions that are valid and answered wrong: the failure discovery rate of the step
    "undecided",  # share of questions without a verdict; they have no part in any advantage
    "group_spread",  # mean standard deviation of the reward within the groups of one prompt
    "zero_spread",  # share of groups without any spread, which teach nothing and are skipped
    "clipped",  # share of questions cut off at the limit of tokens
    "tokens",  # mean length of a question
    "entropy",  # of the policy, mean over tokens, nats
    "kl",  # to the reference policy; empty if there is none
    "loss",
    "grad_norm",
    "learning_rate",
    "seconds",  # wall clock of the step
)


def spreads(rows: Sequence[Row], generations: int) -> np.ndarray:
    """Standard deviation of the decided rewards in each group of ``generations`` rows; 0 with fewer than 2 of them."""
    groups = [rows[start : start + generations] for start in range(0, len(rows), generations)]
    decided = [[value for value in map(signal, group) if value is not None] for group in groups]
    return np.array([np.std(values) if len(set(values)) > 1 else 0.0 for values in decided])


def facts(rows: Sequence[Row], generations: int) -> dict[str, float | None]:
    """What the rows of one step say about it."""
    rewards = [value for value in map(signal, rows) if value is not None]
    spread = spreads(rows, generations)

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values))

    return {
        "questions": len(rows),
        "reward": mean(rewards) if rewards else None,
        "reward_std": float(np.std(rewards)) if rewards else None,
        **{name: mean([row[name] for row in rows]) for name in ("semantic", "lexical", "delta", "penalty")},
        "valid": mean([row["valid"] is True for row in rows]),
        "failed": mean([row["valid"] is True and row["correct"] is False for row in rows]),
        "undecided": mean([undecided(row) for row in rows]),
        "group_spread": mean(spread.tolist()),
        "zero_spread": mean((spread == 0).tolist()),
        "clipped": mean([not row["finished"] for row in rows]),
        "tokens": mean([row["question_tokens"] for row in rows]),
    }


class Log:
    """The file, open for appending."""

    def __init__(self, path: str | os.PathLike, keep: int = 0):
        """Start or continue ``path``; lines of steps after ``keep`` are dropped, they are about to be made again."""
        self.path = Path(path)
        lines = [line for line in read_log(self.path) if int(line["step"]) <= keep] if self.path.exists() else []
        with atomic(self.path) as temporary:
            temporary.write_text(_line(dict(zip(COLUMNS, COLUMNS, strict=True))) + "".join(map(_line, lines)))

    def write(self, values: Mapping[str, Any]) -> None:
        """Append one line; what ``values`` does not hold stays empty.

        Raises:
            ValueError: an unknown column.
        """
        if unknown := set(values) - set(COLUMNS):
            raise ValueError(f"{self.path}: unknown columns {sorted(unknown)}")
        with self.path.open("a") as file:
            file.write(_line(values))


def read_log(path: str | os.PathLike) -> list[dict[str, str]]:
    """Lines of a log as text; a last line that a kill cut short is left out."""
    text = Path(path).read_text()
    return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))


def _line(values: Mapping[str, Any]) -> str:
    out = io.StringIO()
    csv.DictWriter(out, COLUMNS, lineterminator="\n").writerow({name: _cell(values.get(name)) for name in COLUMNS})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None or value != value:  # NaN is missing, and missing is empty
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
