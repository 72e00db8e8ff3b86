"""What happens around the trainer's steps: the log, the watch on reward spread, sealed checkpoints."""

import logging
import math
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import TrainerCallback

from vlmdx.discovery.checkpoints import seal
from vlmdx.discovery.log import Log, facts

logger = logging.getLogger(__name__)


class NoSignal(RuntimeError):
    """Training was stopped: no group of questions had any spread in its rewards for too long."""


class Watch(TrainerCallback):
    """Writes a line of the log per step, skips steps that teach nothing, and stops a run that is made of them."""

    def __init__(self, log: Log, generations: int, patience: int, first: int = 0) -> None:
        """``patience``: how many steps in a row without any spread stop the run; ``first``: steps before the first."""
        self.log, self.generations, self.patience, self.first = log, generations, patience, first
        self.idle = 0  # steps in a row without spread
        self.idle_groups = 0
        self.started = 0.0
        self.trainer: Any = None  # set by the trainer

    def on_train_begin(self, args, state, control, **kwargs):
        self.bar = tqdm(total=args.max_steps, initial=state.global_step, desc="train questioner", unit="step")

    def on_step_begin(self, args, state, control, **kwargs):
        self.started = time.perf_counter()

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        if not self.trainer.live:
            # A zero gradient is not enough: Adam would still move the weights by what it remembers.
            model.zero_grad(set_to_none=True)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" not in logs:  # the summary at the end
            return
        known = facts(self.trainer.rows, self.generations)
        groups = len(self.trainer.rows) // self.generations
        names = ("entropy", "kl", "loss", "grad_norm", "learning_rate")
        seconds = time.perf_counter() - self.started
        self.log.write(
            {
                "step": self.first + state.global_step,
                "seconds": seconds,
                **known,
                **{n: logs[n] for n in names if n in logs},
            }
        )
        self.bar.update()
        self.bar.set_postfix(reward=known["reward"], failed=known["failed"], valid=known["valid"])
        self._spread(self.first + state.global_step, round(known["zero_spread"] * groups), groups, known)

    def _spread(self, step: int, idle: int, groups: int, known: dict[str, Any]) -> None:
        self.idle_groups += idle
        if idle:
            logger.warning(
                "step %d: %d of %d groups have no spread in their rewards and are skipped (%d groups since the start)",
                step,
                idle,
                groups,
                self.idle_groups,
            )
        self.idle = self.idle + 1 if idle == groups else 0
        if self.idle >= self.patience:
            raise NoSignal(
                f"stopped at step {step}: for {self.idle} steps in a row (`patience`) all questions of a group got the "
                f"same reward, so nothing can be learned. In the last step {known['valid']:.0%} of the questions were "
                f"valid, {known['failed']:.0%} made the answerer fail, {known['undecided']:.0%} got no verdict. If "
                "none is valid, read the questions and the verifier's details in the newest rollout part; if none "
                "fails, the answerer leaves no room; raise `temperature` or `generations` for more variety"
            )

    def on_save(self, args, state, control, **kwargs):
        seal(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()


def check_loss(value: float, step: int) -> None:
    """Refuse a loss that is no number before it reaches the weights.

    Raises:
        FloatingPointError: with what to try.
    """
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the loss of step {step} is {value}; the weights are as after step {step - 1}. Lower `learning_rate`, or "
            "load the questioner in float32 or bfloat16 instead of float16"
        )
