"""Rollouts: one row per generated question with every verdict and reward term; graded, stored, graded anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vlmdx.discovery.examine import Examined, examine
from vlmdx.discovery.memory import Embed, Memory, by_unit
from vlmdx.discovery.reward import RewardSettings, penalty_of, reward
from vlmdx.discovery.roles import Answerer, Question, Verifier
from vlmdx.schema.io import ContractError, read_table, write_table
from vlmdx.schema.tables import ROLLOUTS

FIXED = ("run", "method", "seed", "phase")  # the same in all rows of one job and phase


@dataclass(frozen=True)
class Asked:
    """A sampled question and where it came from; names as in the ROLLOUTS contract.

    Attributes:
        prompt: what the questioner was told, as rendered.
        question_logprob: nats; None where the questioner's log-probabilities are not known.
    """

    question: Question
    image_sha256: str
    step: int
    turn: int
    sample: int
    sample_seed: int
    prompt: str
    question_logprob: float | None
    question_tokens: int
    finished: bool


def grade(
    asked: Sequence[Asked], answerer: Answerer, verifier: Verifier, memory: Memory, instruction: str = ""
) -> list[dict[str, Any]]:
    """Examine questions, measure their diversity, reward them, and remember them in ``memory``.

    All samples of one (step, turn) must come in one call: they are measured against the memory before it, so that a
    reward does not depend on the order of a batch, and then remembered.

    Args:
        instruction: the questioner's prompt file, as text, for the screen.

    Returns:
        Rows of ROLLOUTS without run, method, seed and phase, in the order of ``asked``.

    Raises:
        ValueError: a (step, turn) that is not later than what ``memory`` holds.
    """
    examined = examine([a.question for a in asked], answerer, verifier, instruction)
    rows = [_row(a, e) for a, e in zip(asked, examined, strict=True)]
    _measure(rows, memory)
    return rows


def _row(asked: Asked, examined: Examined) -> dict[str, Any]:
    answer, judgement = examined.answer, examined.judgement
    return {
        "step": asked.step,
        "image_id": asked.question.image_id,
        "image_sha256": asked.image_sha256,
        "turn": asked.turn,
        "sample": asked.sample,
        "sample_seed": asked.sample_seed,
        "prompt": asked.prompt,
        "question": asked.question.text,
        "question_logprob": asked.question_logprob,
        "question_tokens": asked.question_tokens,
        "finished": asked.finished,
        "valid": examined.valid,
        "criterion": examined.validity.criterion,
        "validity_detail": examined.validity.detail,
        "answer": answer.text if answer else None,
        "answer_logprob": answer.logprob if answer else None,
        "correct": examined.correct,
        "reference": judgement.reference if judgement else None,
        "judgement_detail": judgement.detail if judgement else None,
    }


def _measure(rows: list[dict[str, Any]], memory: Memory) -> None:
    """Add the reward terms to ``rows``, in place, and the rows to ``memory``."""
    settings = memory.settings
    for unit in by_unit(rows):
        for row in unit:
            semantic, lexical, delta = memory.diversity(row["image_id"], row["question"])
            row |= {
                "semantic": semantic,
                "lexical": lexical,
                "delta": delta,
                "penalty": penalty_of(row["valid"], settings.penalty),
                "reward": reward(row["valid"], row["correct"], delta, settings.penalty),
            }
        memory.add_rows(unit)


def recompute(rollouts: pa.Table, settings: RewardSettings, embed: Embed) -> pa.Table:
    """The same rollouts under other reward settings, from their stored verdicts; no model runs but the encoder.

    Under the settings of the run itself every value is the same, bit for bit.

    Returns:
        Table with the columns and the row order of ``rollouts``.
    """
    rows = rollouts.to_pylist()
    jobs: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        jobs.setdefault(tuple(row[name] for name in FIXED), []).append(row)
    for job in jobs.values():
        _measure(job, Memory(settings, embed))
    return pa.Table.from_pylist(rows, schema=rollouts.schema)


@dataclass(frozen=True)
class Recorder:
    """Writes one Parquet part per step; a killed run loses at most the step it was in.

    Attributes:
        folder: of the parts.
        fixed: values of run, method, seed and phase.
        provenance: record for the footer of each part.
    """

    folder: Path
    fixed: Mapping[str, Any]
    provenance: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if set(self.fixed) != set(FIXED):
            raise ValueError(f"fixed columns {sorted(self.fixed)}: expected {sorted(FIXED)}")

    def rows(self, graded: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Whole rows of ROLLOUTS."""
        return [{**self.fixed, **row} for row in graded]

    def write(self, step: int, graded: Sequence[Mapping[str, Any]]) -> Path:
        """Store the rows that :func:`grade` gave for ``step``, by one rename.

        A step that is done again, because the checkpoint before it was the last whole one, replaces its part.

        Raises:
            ContractError: a row of another step, or one that breaks the contract.
        """
        path = self.folder / f"step-{step:05d}.parquet"
        if strangers := {row["step"] for row in graded} - {step}:
            raise ContractError(f"{path}: rows of step {sorted(strangers)} do not belong there")
        write_table(path, self.rows(graded), ROLLOUTS, self.provenance)
        return path


def read_parts(folder: Path, last: int | None = None) -> pa.Table:
    """All rollouts of a folder in the order of their steps.

    Args:
        last: leave out the steps after this one: a resumed run goes on from a checkpoint that may be older.

    Returns:
        Table of ROLLOUTS; empty if there are no parts.

    Raises:
        ContractError: a part that is damaged or of another contract.
    """
    parts = sorted((int(p.stem.removeprefix("step-")), p) for p in Path(folder).glob("step-*.parquet"))
    tables = [read_table(path, ROLLOUTS) for step, path in parts if last is None or step <= last]
    return pa.concat_tables(tables) if tables else ROLLOUTS.schema.empty_table()
