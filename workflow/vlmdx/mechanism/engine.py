"""The fast engine: the effects of all interventions in all layers from one clean pass per batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from vlmdx.mechanism.answer_sweep import AnswerSweep
from vlmdx.mechanism.clean import EngineError, LayerPass, text_model, walk
from vlmdx.mechanism.layer import pick
from vlmdx.mechanism.object_sweep import ObjectSweep
from vlmdx.mechanism.sample import Result, Sample, Spec
from vlmdx.models.adapter import Adapter, Row

HEAD_ROWS = 256  # rows x vocabulary x 4 bytes: 256 rows of a vocabulary of 152,000 are 156 MB of float32 logits
ANSWER_ROWS = 128  # answer positions of all variants of a sample that run side by side
# The engine's own head (norm, output embeddings) must give the model's own log-probabilities; larger differences than
# rounding mean that the model does more (e.g. caps its logits).
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.05}


@torch.inference_mode()
def effects(adapter: Adapter, samples: Sequence[Sample], specs: Sequence[Spec], batch_tokens: int) -> Result:
    """Log-probabilities of the gold answers with and without each intervention.

    Args:
        adapter: the model, with an attention implementation that obeys masks.
        samples: one batch, any lengths; a sample with an empty grounding set has no effect at the object.
        specs: interventions.
        batch_tokens: positions that run through a layer at once, beside the clean pass of the whole batch.

    Raises:
        EngineError: the family does something that the engine cannot follow.
    """
    images = {id(sample.image): sample.image for sample in samples}
    order = {key: place for place, key in enumerate(images)}
    rows = [Row(sample.sequence, order[id(sample.image)], len(sample.gold)) for sample in samples]
    mask = adapter.text_inputs(rows)["attention_mask"]
    first = mask.argmax(-1)
    last = mask.shape[1] - 1 - mask.flip(-1).argmax(-1)
    counts = torch.tensor([len(sample.gold) for sample in samples], device=last.device)
    steps = torch.arange(int(counts.max()), device=last.device)
    answers = torch.minimum((last - counts + 1)[:, None] + steps, last[:, None])
    counted = steps < counts[:, None]
    gold = torch.zeros_like(answers).masked_scatter_(
        counted, torch.tensor([token for sample in samples for token in sample.gold], device=last.device)
    )
    grounding = _marked([s.tokens for s in samples], first, mask)
    vision = _marked([s.vision for s in samples], first, mask)
    answer = [i for i, spec in enumerate(specs) if spec.kind[1] == "answer"]
    at_object = [i for i, spec in enumerate(specs) if spec.kind[1] == "object"]
    full = grounding.any(-1)
    sweeps: list[tuple[list[int], AnswerSweep | ObjectSweep]] = []
    # Variants stand side by side and each is masked from all others: their cost grows with the square of their number.
    together = max(1, ANSWER_ROWS // answers.shape[1])
    for part in (answer[first : first + together] for first in range(0, len(answer), together)):
        sweeps.append((part, AnswerSweep([specs[i] for i in part], answers, grounding)))
    if at_object and full.any():
        # A row without B runs along with one token in its place; its numbers are those of the clean pass.
        stand_in = torch.where(full[:, None], grounding, vision & (vision.cumsum(-1) == vision.sum(-1, keepdim=True)))
        chosen, depth = [specs[i] for i in at_object], len(adapter.decoder_layers)
        sweeps.append((at_object, ObjectSweep(chosen, answers, stand_in, vision, batch_tokens, depth)))
    ends: list[Tensor] = []

    def visit(at: LayerPass) -> None:
        for _, sweep in sweeps:
            sweep.visit(at)
        if at.index == len(adapter.decoder_layers) - 1:
            ends.append(pick(at.output, answers))

    own = walk(adapter, rows, list(images.values()), mask.bool(), visit).log_softmax(-1)
    hidden = torch.cat([ends[0][None], *(sweep.final() for _, sweep in sweeps)])
    each = _head(adapter, hidden, gold)
    _check_head(adapter, each[0], own.gather(2, gold[..., None])[..., 0])
    # One product of many rows may round equal rows differently by their place in it: what is equal stays equal.
    each = torch.where((hidden == hidden[0]).all(-1), each[0], each)
    logprob = (each * counted).sum(-1)
    result = logprob[:1].repeat(len(specs), 1)
    result[[i for indices, _ in sweeps for i in indices]] = logprob[1:]
    result[at_object] = torch.where(full, result[at_object], logprob[0])
    letters = [row[0, list(sample.letters)].cpu() for row, sample in zip(own, samples, strict=True)]
    return Result(logprob[0].cpu(), result.cpu(), letters)


def _marked(positions: Sequence[Sequence[int]], first: Tensor, mask: Tensor) -> Tensor:
    """bool [rows, length]: the given positions of each row, counted from its first real token."""
    marked = torch.zeros_like(mask, dtype=torch.bool)
    for row, chosen in enumerate(positions):
        marked[row, first[row] + torch.tensor(chosen, dtype=torch.long, device=mask.device)] = True
    return marked


def _head(adapter: Adapter, hidden: Tensor, targets: Tensor) -> Tensor:
    """float32 log-probability of the targets [rows, k] for last-layer outputs [n, rows, k, width]: [n, rows, k]."""
    norm, output = text_model(adapter).norm, adapter.model.get_output_embeddings()
    flat, wanted = hidden.flatten(0, 2), targets.flatten().repeat(len(hidden))
    parts = [
        output(norm(part)).float().log_softmax(-1).gather(1, ids[:, None])[:, 0]
        for part, ids in zip(flat.split(HEAD_ROWS), wanted.split(HEAD_ROWS), strict=True)
    ]
    return torch.cat(parts).view(hidden.shape[:-1])


def _check_head(adapter: Adapter, ours: Tensor, own: Tensor) -> None:
    """Compare log-probabilities [rows, k] of the engine's head with the model's own.

    Raises:
        EngineError: they differ by more than rounding.
    """
    difference = (ours - own).abs().max().item()
    if not difference <= TOLERANCE[adapter.model.dtype]:
        raise EngineError(
            f"{adapter.source}: log p after norm and output embeddings differs from the model by {difference:.2g}; "
            "use engine: reference"
        )
