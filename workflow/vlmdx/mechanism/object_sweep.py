"""Interventions at the object's positions: only positions from the first changed one on, and layers from l on.

Positions before the first one that can read B keep their clean keys and values. All layers' variants of a sample run
together, as rows of one batch, each carried from its own layer to the end. Of the last layer only the answer positions
are computed, besides all keys and values.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from vlmdx.mechanism.clean import EngineError, LayerPass
from vlmdx.mechanism.layer import CleanCache, keys_values, pick, run_layer
from vlmdx.mechanism.sample import MEAN_ABLATION, MLP_OBJECT, Spec


class ObjectSweep:
    """Visitor of the clean pass.

    Args:
        specs: interventions at object positions, any order.
        answers: int64 [rows, answers], the positions that predict the gold answer, ascending; shorter answers repeat
            their last one.
        grounding: bool [rows, length], B; no row may be empty.
        vision: bool [rows, length], image tokens.
        batch_tokens: positions that run through a layer at once.
        depth: number of layers.
    """

    def __init__(
        self, specs: Sequence[Spec], answers: Tensor, grounding: Tensor, vision: Tensor, batch_tokens: int, depth: int
    ) -> None:
        self.specs, self.answers, self.grounding, self.vision = list(specs), answers, grounding, vision
        self.last, self.batch_tokens, self.depth = answers[:, -1], batch_tokens, depth
        self.running: list[int] = []  # indices into specs
        self.hidden: list[Tensor] = []  # per running spec, [rows, suffix, width]
        self.start: Tensor | None = None

    def visit(self, at: LayerPass) -> None:
        """Run the variants through one layer, and start those that first act on it."""
        if self.start is None:
            self._cut(at)
        assert self.start is not None
        # A variant reads clean keys before `start`, so no position there may read one at or after it.
        before = torch.arange(at.allowed.shape[1], device=self.start.device)[None] < self.start[:, None]
        if (at.allowed & before[:, :, None] & ~before[:, None]).any():
            raise EngineError("positions before the object read the object in some layers; use engine: reference")
        last = at.index == self.depth - 1
        self._advance(at, before, last)
        if last:
            # What starts here, or acts here on B, changes nothing that is read.
            new = [index for index, spec in enumerate(self.specs) if spec.layer == at.index]
            self.hidden += [pick(at.output, self.answers)] * len(new)
            self.running += new
            if at.injection is not None:
                self.hidden = [hidden + pick(at.injection, self.answers) for hidden in self.hidden]
            return
        for index, spec in enumerate(self.specs):
            if spec.layer == at.index:
                self.running.append(index)
                self.hidden.append(self._first(at, spec))
        for place, index in enumerate(self.running):
            if self.specs[index].kind == MEAN_ABLATION and self.specs[index].acts(at.index):
                self.hidden[place] = self._ablate(at, self.hidden[place], before)
        if at.injection is not None:
            added = pick(at.injection, self.positions)
            self.hidden = [hidden + added for hidden in self.hidden]

    def final(self) -> Tensor:
        """Output of the last layer where answers are predicted, [specs, rows, answers, width], as ``specs`` go."""
        order = sorted(range(len(self.running)), key=lambda place: self.running[place])
        return torch.stack([self.hidden[place] for place in order])

    def _cut(self, at: LayerPass) -> None:
        """First position to recompute: the last one, at or before min(B), that nothing before it reads past."""
        length = at.allowed.shape[1]
        place = torch.arange(length, device=self.last.device)
        reach = torch.where(at.allowed, place, 0).amax(-1).cummax(-1).values  # furthest position read so far
        closed = torch.cat([torch.ones_like(reach[:, :1], dtype=torch.bool), reach[:, :-1] < place[1:]], 1)
        first = self.grounding.int().argmax(-1)
        self.start = torch.where(closed & (place <= first[:, None]), place, 0).amax(-1)
        steps = torch.arange(int((self.last - self.start).max()) + 1, device=self.last.device)
        # Shorter suffixes are filled with their last position; those places are never read.
        self.positions = torch.minimum(self.start[:, None] + steps, self.last[:, None])
        self.real = self.start[:, None] + steps <= self.last[:, None]
        self.at_object = pick(self.grounding, self.positions) & self.real
        self.at_vision = pick(self.vision, self.positions) & self.real

    def _first(self, at: LayerPass, spec: Spec) -> Tensor:
        """Clean output of the layer on the suffix, with the MLP silenced at B where that is the intervention."""
        suffix = pick(at.output, self.positions)
        if spec.kind != MLP_OBJECT:
            return suffix
        counts = self.grounding.sum(-1)
        steps = torch.arange(int(counts.max()), device=counts.device).clamp(max=suffix.shape[1] - 1)
        # Positions of B in ascending order; shorter sets repeat their last one, which gets the same value twice.
        order = torch.where(self.grounding, 1, 0).argsort(dim=-1, descending=True, stable=True)
        where = order.gather(1, torch.minimum(steps[None], counts[:, None] - 1))
        silenced = run_layer(
            at,
            pick(at.hidden, where),
            where,
            CleanCache(at.keys, at.values, append=False),
            pick(at.allowed, where)[:, None],
            torch.ones_like(where, dtype=torch.bool),
        )
        row = torch.arange(len(where), device=where.device)[:, None]
        assert self.start is not None
        suffix[row, where - self.start[:, None]] = silenced
        return suffix

    def _advance(self, at: LayerPass, before: Tensor, last: bool) -> None:
        """Carry all running variants through the layer, as many rows at once as ``batch_tokens`` allows.

        In the last layer what is left of each are the answer positions.
        """
        assert self.start is not None
        prefix, suffix = int(self.start.max()), self.positions.shape[1]
        rows = len(self.last)
        own = pick(at.allowed, self.positions)  # [rows, suffix, length]
        own = own.gather(2, self.positions[:, None].expand(-1, suffix, -1)) & self.real[:, None]
        own |= torch.eye(suffix, dtype=torch.bool, device=own.device)  # a filled place reads itself, or would be NaN
        clean = pick(at.allowed, self.positions)[..., :prefix] & before[:, None, :prefix]
        allowed = torch.cat([clean, own], -1)[:, None]
        together = max(1, self.batch_tokens // (rows * suffix))
        for first in range(0, len(self.hidden), together):
            part = torch.cat(self.hidden[first : first + together])
            specs = [self.specs[i] for i in self.running[first : first + together]]
            copies = (len(specs), 1, 1, 1)
            cache = CleanCache(at.keys[:, :, :prefix].repeat(copies), at.values[:, :, :prefix].repeat(copies))
            if last:
                places = self.answers - self.start[:, None]
                cache = CleanCache(*keys_values(at, part, self.positions, cache), append=False)
                part = pick(part, places.repeat(len(specs), 1))
                output = run_layer(at, part, self.answers, cache, pick(allowed[:, 0], places)[:, None])
            else:
                zero = torch.cat([self.at_object & (s.kind == MLP_OBJECT and s.acts(at.index)) for s in specs])
                output = run_layer(at, part, self.positions, cache, allowed, zero)
            self.hidden[first : first + together] = output.split(rows)

    def _ablate(self, at: LayerPass, hidden: Tensor, before: Tensor) -> Tensor:
        """Hidden states of B replaced by the mean over all image tokens of the same row, in this layer and run."""
        outside = self.vision & before
        total = (at.output.float() * outside[..., None]).sum(1) + (hidden.float() * self.at_vision[..., None]).sum(1)
        mean = total / self.vision.sum(-1, keepdim=True)
        return torch.where(self.at_object[..., None], mean[:, None].to(hidden.dtype), hidden)
