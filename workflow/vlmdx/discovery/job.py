"""One method with one seed: who asks, and where everything is kept."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from vlmdx.models.adapter import Adapter
from vlmdx.models.load import load
from vlmdx.schema import atomic

logger = logging.getLogger(__name__)
Method = Literal["zero-shot", "sft", "expert-iteration", "conme", "rl", "sft-rl"]
METHODS: tuple[Method, ...] = get_args(Method)
UNTRAINED = ("zero-shot", "conme")
MARK = "identity.txt"  # in a folder of working files: whose they are


@dataclass(frozen=True)
class Policy:
    """The questioner before training.

    Attributes:
        source: folder or hub id.
        revision: of a hub id.
        options: further keyword arguments of `vlmdx.models.load.load`.
    """

    source: str
    revision: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, checkpoint: Path | None = None) -> Adapter:
        """The questioner, or what training made of it."""
        if checkpoint is None:
            return load(self.source, self.revision, **self.options)
        return load(str(checkpoint), **self.options)


@dataclass(frozen=True)
class Job:
    """One method with one seed.

    Attributes:
        method: one of ``METHODS``.
        run: slug of the run.
        seed: of the run.
        folder: ``results/discovery/{run}/{method}/{seed}``; all that is written stands below it.
        identity: digest of all that the caller's results depend on; what another identity left is removed, not
            continued. Training and asking each keep their own.
        provenance: for the footers of rollout parts.
    """

    method: Method
    run: str
    seed: int
    folder: Path
    identity: str
    provenance: Mapping[str, Any] | None = None

    @property
    def checkpoint(self) -> Path:
        """The trained policy; not there for the methods that train none."""
        return self.folder / "checkpoint"

    @property
    def trained(self) -> bool:
        """Training came to its end; an empty folder may be the workflow's."""
        return (self.checkpoint / "config.json").exists()

    @property
    def training(self) -> Path:
        """Working files of the training: rollouts step by step, logs, checkpoints to go on from."""
        return self.folder / "training"

    @property
    def asking(self) -> Path:
        """Working files of the held-out questions: rollouts turn by turn."""
        return self.folder / "asking"

    def settle(self, history: Path) -> None:
        """Keep the logs of a finished training in ``history``; its other working files go."""
        history.mkdir(parents=True, exist_ok=True)
        for log in self.training.glob("*.csv"):
            log.replace(history / log.name)
        discard(self.training)

    def fixed(self, phase: Literal["train", "held-out"]) -> dict[str, Any]:
        """Columns that are the same in all rows."""
        return {"run": self.run, "method": self.method, "seed": self.seed, "phase": phase}


def discard(folder: Path) -> None:
    """Remove working files. The mark goes first: of what a kill leaves then, :func:`claim` makes no use."""
    (folder / MARK).unlink(missing_ok=True)
    shutil.rmtree(folder)


def claim(folder: Path, identity: str, *beside: Path) -> None:
    """Empty a folder, and what stands beside it, that other settings, code or inputs left: it cannot be continued."""
    mark = folder / MARK
    if mark.exists() and mark.read_text() == identity:
        return
    for left in (folder, *beside):
        if left.exists():
            logger.warning("%s was made with other settings; it is removed", left)
            shutil.rmtree(left)
    with atomic(mark) as temporary:
        temporary.write_text(identity)
