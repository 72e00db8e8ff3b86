"""R = Δ·V·(1 - C) - P (arXiv 2604.04733), as a plain function of stored verdicts."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RewardSettings:
    """What a reward depends on beside the verdicts; all values are ours.

    Attributes:
        penalty: p of P = p·(1 - V).
        buffer: how many failed questions, the latest of all images, a new one is compared with beside those of its
            own image.
        semantic_weight: of the semantic term in Δ; the lexical one has the rest.
        diversity: False sets Δ = 1, for the ablation; both terms are still measured and stored.
    """

    penalty: float = 0.5
    buffer: int = 256
    semantic_weight: float = 0.5
    diversity: bool = True

    def __post_init__(self) -> None:
        if not (math.isfinite(self.penalty) and self.penalty >= 0):
            raise ValueError(f"penalty = {self.penalty}: expected a number of 0 or more")
        if not 0 <= self.semantic_weight <= 1:
            raise ValueError(f"semantic_weight = {self.semantic_weight}: expected 0 to 1")
        if self.buffer < 0:
            raise ValueError(f"buffer = {self.buffer} questions: expected 0 or more")

    def delta(self, semantic: float, lexical: float) -> float:
        """Δ in [0, 1] of its two terms, each in [0, 1]."""
        return self.semantic_weight * semantic + (1 - self.semantic_weight) * lexical if self.diversity else 1.0


def penalty_of(valid: bool | None, penalty: float) -> float:
    """P = p·(1 - V). A question that nobody could judge is not punished."""
    return penalty if valid is False else 0.0


def reward(valid: bool | None, correct: bool | None, delta: float, penalty: float) -> float:
    """The questioner's reward for one question.

    Args:
        valid: V; None = undecided.
        correct: C, whether the answerer was right; None = not asked, or undecided.
        delta: Δ, in [0, 1].
        penalty: p, 0 or more.

    Returns:
        Δ for a valid question that was answered wrongly, 0 for one that was answered rightly, -p for an invalid one.
        Undecided counts as 0: a verifier that is down must neither teach nor punish anything.

    Raises:
        ValueError: Δ outside [0, 1] or p negative, NaN included.
    """
    if not 0 <= delta <= 1:
        raise ValueError(f"delta = {delta}: expected 0 to 1")
    if not 0 <= penalty < math.inf:
        raise ValueError(f"penalty = {penalty}: expected a number of 0 or more")
    failed = valid is True and correct is False
    return (delta if failed else 0.0) - penalty_of(valid, penalty)
