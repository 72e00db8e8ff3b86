"""The reference engine: one full forward pass of the whole model per intervention, with plain hooks and a 4-D mask.

Slow and simple on purpose; the fast engine is tested against it, and takes its place where a family does what the fast
one cannot follow.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from vlmdx.mechanism.clean import additive, check_attention
from vlmdx.mechanism.layer import mlp
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Result, Sample, Spec
from vlmdx.models.adapter import Adapter, Row


@torch.inference_mode()
def effects(adapter: Adapter, samples: Sequence[Sample], specs: Sequence[Spec], batch_tokens: int = 0) -> Result:
    """As :func:`vlmdx.mechanism.engine.effects`, sample by sample and spec by spec.

    Raises:
        EngineError: the attention implementation may ignore masks.
    """
    check_attention(adapter)
    results = []
    for sample in samples:
        clean = answer_log_probabilities(adapter, sample)
        changed = [gold_log_probability(_under(adapter, sample, spec), sample) for spec in specs]
        results.append((clean, torch.stack(changed) if changed else clean.new_empty(0)))
    return Result(
        torch.stack([gold_log_probability(c, s) for s, (c, _) in zip(samples, results, strict=True)]).cpu(),
        torch.stack([changed for _, changed in results], 1).cpu(),
        [clean[0, list(s.letters)].cpu() for s, (clean, _) in zip(samples, results, strict=True)],
    )


def log_probabilities(adapter: Adapter, sample: Sample) -> Tensor:
    """float32 [vocabulary] after the prompt, under whatever hooks are installed."""
    return answer_log_probabilities(adapter, sample)[0]


def answer_log_probabilities(adapter: Adapter, sample: Sample) -> Tensor:
    """float32 [gold tokens, vocabulary] at the positions that predict the gold answer, under whatever hooks."""
    row = Row(sample.sequence, 0, len(sample.gold))
    return adapter.logits([row], [sample.image])[0].log_softmax(-1)


def gold_log_probability(found: Tensor, sample: Sample) -> Tensor:
    """float32 scalar: log-probability of the gold answer, the sum over its tokens, from those of all tokens."""
    return found[torch.arange(len(sample.gold)), list(sample.gold)].sum()


def _under(adapter: Adapter, sample: Sample, spec: Spec) -> Tensor:
    with installed(adapter, sample, spec) as fired:
        found = answer_log_probabilities(adapter, sample)
    if fired != list(range(spec.layer, spec.layer + spec.layers)):
        raise RuntimeError(f"{adapter.source}: hooks of {spec} fired in layers {fired}")
    return found


@contextmanager
def installed(adapter: Adapter, sample: Sample, spec: Spec) -> Iterator[list[int]]:
    """Install the hooks of ``spec``; they are removed even after an exception.

    Positions are absolute, so the hooks also serve a cached decoding step, where the layers see the new token alone.

    Yields:
        Numbers of the layers whose hook fired, in order.
    """
    fired: list[int] = []
    handles = []
    try:
        for number in range(spec.layer, spec.layer + spec.layers):
            handles.append(_hook(adapter.decoder_layers[number], number, sample, spec, fired))
        yield fired
    finally:
        for handle in handles:
            handle.remove()


def _hook(layer: Any, number: int, sample: Sample, spec: Spec, fired: list[int]) -> Any:
    tokens, vision = list(sample.tokens), list(sample.vision)

    def ablate(module: nn.Module, args: tuple, output: Tensor) -> Tensor:
        fired.append(number)
        if output.shape[1] <= max(vision):
            return output  # a cached step: the image was seen before
        output = output.clone()
        output[:, tokens] = output[:, vision].float().mean(1, keepdim=True).to(output.dtype)
        return output

    def silence(positions: list[int]) -> Callable[[nn.Module, tuple, Tensor], Tensor]:
        def hook(module: nn.Module, args: tuple, output: Tensor) -> Tensor:
            fired.append(number)
            output = output.clone()
            if output.shape[1] > max(positions, default=-1):  # else a cached step: they were seen before
                output[:, positions] = 0
            return output

        return hook

    def cut(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        fired.append(number)
        mask = knockout_mask(module, args[0], kwargs, len(sample.ids) - 1, tokens, spec.heads)
        return args, {**kwargs, "attention_mask": mask}

    def watch(module: nn.Module, args: tuple, output: Tensor) -> None:
        fired.append(number)

    if spec.kind == MEAN_ABLATION:
        return layer.register_forward_hook(ablate)
    if spec.kind == MLP_OBJECT:
        return mlp(layer).register_forward_hook(silence(tokens))
    if spec.kind == MLP_ANSWER:
        return mlp(layer).register_forward_hook(silence(list(sample.answers)))
    if spec.kind == ATTENTION_KNOCKOUT:
        return layer.register_forward_pre_hook(cut, with_kwargs=True)
    return layer.register_forward_hook(watch)


def knockout_mask(
    layer: Any,
    hidden: Tensor,
    kwargs: dict[str, Any],
    answer: int,
    tokens: Sequence[int],
    heads: Sequence[int] | None = None,
) -> Tensor:
    """The layer's own additive 4-D mask with minus infinity from the answer position(s) to ``tokens``.

    Args:
        layer: decoder layer.
        hidden: its input, [1, new positions, width].
        kwargs: what it was called with.
        answer: absolute position from which on positions may not read ``tokens``.
        tokens: absolute positions.
        heads: query heads; None for all.
    """
    new = hidden.shape[1]
    cache = kwargs.get("cache")
    past = cache.get_seq_length(layer.self_attn.layer_idx) if cache is not None else 0
    mask = kwargs.get("attention_mask")
    query = torch.arange(past, past + new, device=hidden.device)[:, None]
    if mask is None:
        allowed = (torch.arange(past + new, device=hidden.device)[None] <= query)[None, None]
        mask = additive(allowed, hidden.dtype)
    elif mask.dtype == torch.bool:
        mask = additive(mask, hidden.dtype)
    attention = getattr(layer.self_attn, "original_component", layer.self_attn)  # inside a TransformerBridge
    count = attention.config.num_attention_heads if heads is not None else 1
    mask = mask.expand(-1, count, -1, -1).clone()
    row = (query[:, 0] >= answer).nonzero()[:, 0]
    head = (
        torch.arange(count, device=hidden.device)
        if heads is None
        else torch.tensor(list(heads), dtype=torch.long, device=hidden.device)
    )
    column = torch.tensor(list(tokens), dtype=torch.long, device=hidden.device)
    mask[:, head[:, None, None], row[None, :, None], column[None, None]] = float("-inf")
    return mask
