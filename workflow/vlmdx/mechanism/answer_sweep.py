"""Interventions that change the answer positions only: all layers' variants as one batch of single tokens.

At layer l the batch holds the variants that were changed in a layer before l, carried on, plus new ones that start from
the clean input of layer l. The variants of a sample stand side by side as queries over its clean keys and values, each
with its own keys and values in the answer positions' place, so nothing of the clean pass is copied per variant. There
is one answer position, the last of the prompt, unless the gold answer has several tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from vlmdx.mechanism.clean import EngineError, LayerPass
from vlmdx.mechanism.layer import CleanCache, pick, run_layer
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MLP_ANSWER, Spec


class AnswerSweep:
    """Visitor of the clean pass.

    Args:
        specs: interventions at the answer position, any order.
        answers: int64 [rows, answers], the positions that predict the gold answer, ascending; shorter answers repeat
            their last one.
        grounding: bool [rows, length], B.
    """

    def __init__(self, specs: Sequence[Spec], answers: Tensor, grounding: Tensor) -> None:
        self.specs, self.answers, self.grounding = list(specs), answers, grounding
        self.running: list[int] = []  # indices into specs, in the order of the batch
        self.hidden: Tensor | None = None  # [rows, running x answers, width], spec by spec

    def visit(self, at: LayerPass) -> None:
        """Run the variants through one layer."""
        new = [i for i, spec in enumerate(self.specs) if spec.layer == at.index]
        if new:
            start = pick(at.hidden, self.answers).repeat(1, len(new), 1)
            self.hidden = start if self.hidden is None else torch.cat([self.hidden, start], 1)
            self.running += new
        if self.hidden is None:
            return
        specs = [self.specs[i] for i in self.running]
        (rows, count), device = self.answers.shape, self.answers.device
        silent = [spec.kind == MLP_ANSWER and spec.acts(at.index) for spec in specs]
        zero = torch.tensor(silent, device=device).repeat_interleave(count).expand(rows, -1)
        self.hidden = run_layer(
            at,
            self.hidden,
            self.answers.repeat(1, len(specs)),
            CleanCache(at.keys, at.values),
            self._allowed(at, specs),
            zero,
        )

    def final(self) -> Tensor:
        """Output of the last layer, [specs, rows, answers, width], in the order of ``specs``."""
        assert self.hidden is not None
        order = sorted(range(len(self.running)), key=lambda place: self.running[place])
        rows, count = self.answers.shape
        return self.hidden.view(rows, len(order), count, -1)[:, order].transpose(0, 1)

    def _allowed(self, at: LayerPass, specs: Sequence[Spec]) -> Tensor:
        """bool [rows, 1 or heads, n, length + n], n = variants x answers: clean keys before the answer, then own."""
        rows, count = self.answers.shape
        row = torch.arange(rows, device=self.answers.device)[:, None]
        mine = torch.zeros_like(self.grounding).scatter(1, self.answers, True)
        if (at.allowed[row, :, self.answers] & ~mine[:, None]).any():
            raise EngineError("other positions read the answer position; use engine: reference")
        keys = at.allowed[row, self.answers]  # [rows, answers, length]
        cut = [spec for spec in specs if spec.kind == ATTENTION_KNOCKOUT and spec.acts(at.index)]
        heads = 1 if all(s.heads is None for s in cut) else at.module.self_attn.config.num_attention_heads
        clean = (keys & ~mine[:, None])[:, None, None].repeat(1, heads, len(specs), 1, 1)
        for place, spec in enumerate(specs):
            if spec in cut:
                for head in range(heads) if spec.heads is None else spec.heads:
                    clean[:, head, place] &= ~self.grounding[:, None]
        # A place that repeats the last answer reads itself, or would be NaN, and is never read.
        first = torch.ones_like(self.answers, dtype=torch.bool)
        first[:, 1:] = self.answers[:, 1:] > self.answers[:, :-1]
        own = keys.gather(2, self.answers[:, None].expand(-1, count, -1)) & first[:, None]
        own |= torch.eye(count, dtype=torch.bool, device=own.device)
        each = torch.eye(len(specs), dtype=torch.bool, device=own.device)
        own = (each[:, None, :, None] & own[:, None, :, None]).flatten(3).flatten(1, 2)[:, None]
        return torch.cat([clean.flatten(2, 3), own.expand(-1, heads, -1, -1)], -1)
