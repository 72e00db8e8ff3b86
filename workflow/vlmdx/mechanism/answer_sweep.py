"""Interventions that change the answer position only: all layers' variants as one batch of single tokens.

At layer l the batch holds the variants that were changed in a layer before l, carried on, plus new ones that start from
the clean input of layer l. The variants of a sample stand side by side as queries over its clean keys and values, each
with its own key and value in the answer position's place, so nothing of the clean pass is copied per variant.
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
        last: int64 [rows], the answer position of each row.
        grounding: bool [rows, length], B.
    """

    def __init__(self, specs: Sequence[Spec], last: Tensor, grounding: Tensor) -> None:
        self.specs, self.last, self.grounding = list(specs), last, grounding
        self.running: list[int] = []  # indices into specs, in the order of the batch
        self.hidden: Tensor | None = None  # [rows, running, width]

    def visit(self, at: LayerPass) -> None:
        """Run the variants through one layer."""
        new = [i for i, spec in enumerate(self.specs) if spec.layer == at.index]
        if new:
            start = pick(at.hidden, self.last[:, None]).expand(-1, len(new), -1)
            self.hidden = start if self.hidden is None else torch.cat([self.hidden, start], 1)
            self.running += new
        if self.hidden is None:
            return
        specs = [self.specs[i] for i in self.running]
        rows, device = len(self.last), self.last.device
        acting = [spec.kind if spec.acts(at.index) else None for spec in specs]
        zero = torch.tensor([kind == MLP_ANSWER for kind in acting], device=device).expand(rows, -1)
        self.hidden = run_layer(
            at,
            self.hidden,
            self.last[:, None].expand(-1, len(specs)),
            CleanCache(at.keys, at.values),
            self._allowed(at, specs),
            zero,
        )

    def final(self) -> Tensor:
        """Output of the last layer, [specs, rows, width], in the order of ``specs``."""
        assert self.hidden is not None
        order = sorted(range(len(self.running)), key=lambda place: self.running[place])
        return self.hidden[:, order].transpose(0, 1)

    def _allowed(self, at: LayerPass, specs: Sequence[Spec]) -> Tensor:
        """bool [rows, 1 or heads, variants, length + variants]: clean keys before the answer, then each its own."""
        row = torch.arange(len(self.last), device=self.last.device)
        if at.allowed[row, :, self.last].sum(-1).max() > 1:
            raise EngineError("other positions read the answer position; use engine: reference")
        keys = at.allowed[row, self.last]
        keys[row, self.last] = False
        heads = [spec.heads for spec in specs if spec.acts(at.index) and spec.heads is not None]
        count = at.module.self_attn.config.num_attention_heads if heads else 1
        clean = keys[:, None, None].repeat(1, count, len(specs), 1)
        for place, spec in enumerate(specs):
            if spec.kind == ATTENTION_KNOCKOUT and spec.acts(at.index):
                for head in range(count) if spec.heads is None else spec.heads:
                    clean[:, head, place] &= ~self.grounding
        own = torch.eye(len(specs), dtype=torch.bool, device=clean.device).expand(*clean.shape[:3], -1)
        return torch.cat([clean, own], -1)
