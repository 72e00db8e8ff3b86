"""What a new question is compared with: failed questions of its image, and the latest of all images."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.words import prefix

Embed = Callable[[Sequence[str]], np.ndarray]  # n texts -> [n, d], rows of length 1; a row depends on its text alone

# A cosine is kept to this many decimals: another BLAS or number of threads moves it by 1e-7.
DECIMALS = 4


class Diversity(NamedTuple):
    """The terms of Δ (science: B, Reward), each in [0, 1]."""

    semantic: float
    lexical: float
    delta: float


class Memory:
    """Failed questions so far, and the chain of questions that is going on for each image.

    The state depends on the sequence of :meth:`add` calls alone, so it can be rebuilt from stored rollouts.
    """

    def __init__(self, settings: RewardSettings, embed: Embed) -> None:
        self.settings = settings
        self._embed = embed
        self._buffer: deque[tuple[str, str]] = deque(maxlen=settings.buffer)
        self._failed: dict[str, list[str]] = {}
        self._chains: dict[str, list[str]] = {}
        self.unit: tuple[int, int] | None = None  # (step, turn) that was added last

    def diversity(self, image_id: str, text: str) -> Diversity:
        """Δ = ½(1 - max cos) + ½(1 - relative frequency of the first two words), weights from the settings.

        Cosines below 0 count as 0, so that Δ stays in [0, 1]. With nothing to compare with, both terms are 1.
        """
        others = [*self._failed.get(image_id, ()), *(t for image, t in self._buffer if image != image_id)]
        if not others:
            return Diversity(1.0, 1.0, self.settings.delta(1.0, 1.0))
        distinct = list(dict.fromkeys(others))
        vectors = np.asarray(self._embed([text, *distinct]), dtype=np.float64)
        # Products summed row by row: a matrix product may depend, in its last bits, on how many rows there are.
        cosines = (vectors[1:] * vectors[0]).sum(1)
        closest = min(max(round(float(cosines.max()), DECIMALS), 0.0), 1.0)
        prefixes = Counter(prefix(other) for other in others)
        semantic, lexical = 1 - closest, 1 - prefixes[prefix(text)] / len(others)
        return Diversity(semantic, lexical, self.settings.delta(semantic, lexical))

    def earlier(self, image_id: str) -> tuple[str, ...]:
        """Questions of the chain that is going on for this image, oldest first: what the next prompt shows."""
        return tuple(self._chains.get(image_id, ()))

    def add(self, image_id: str, text: str, failed: bool, turn: int = 0, sample: int = 0) -> None:
        """Remember one question.

        Args:
            failed: it was valid and answered wrongly.
            turn: its place in the chain; 0 starts a new chain.
            sample: its place among the samples of one prompt; the chain goes on with sample 0.
        """
        if sample == 0:
            chain = self._chains.setdefault(image_id, [])
            if turn == 0:
                chain.clear()
            chain.append(text)
        if failed:
            self._failed.setdefault(image_id, []).append(text)
            self._buffer.append((image_id, text))

    def add_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Remember the rows of one (step, turn), in the order (image_id, sample).

        Raises:
            ValueError: rows of several units, or of one that is not later than the last.
        """
        ordered = sorted(rows, key=lambda row: (row["image_id"], row["sample"]))
        units = {(row["step"], row["turn"]) for row in ordered}
        if len(units) != 1 or (self.unit is not None and min(units) <= self.unit):
            raise ValueError(
                f"questions of (step, turn) {sorted(units)} after those of {self.unit}: all samples of one step and "
                "turn are graded together, and steps in order"
            )
        self.unit = units.pop()
        for row in ordered:
            self.add(row["image_id"], row["question"], failed(row), row["turn"], row["sample"])

    @classmethod
    def replay(cls, rows: Iterable[Mapping[str, Any]], settings: RewardSettings, embed: Embed) -> "Memory":
        """The memory after ``rows`` (of one run, method, seed and phase), in whatever order they come."""
        memory = cls(settings, embed)
        for unit in by_unit(rows):
            memory.add_rows(unit)
        return memory


def failed(row: Mapping[str, Any]) -> bool:
    """Whether the question of a rollout row was valid and answered wrongly."""
    return row["valid"] is True and row["correct"] is False


def by_unit(rows: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """Rows by (step, turn), in that order: those of one unit are measured against the memory before it."""
    units: dict[tuple[int, int], list[Any]] = {}
    for row in rows:
        units.setdefault((row["step"], row["turn"]), []).append(row)
    return [units[key] for key in sorted(units)]
