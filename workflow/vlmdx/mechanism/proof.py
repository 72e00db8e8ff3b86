"""Proof that a knockout cuts what it says, run on a user's own model before its numbers are believed.

An attention implementation that ignores the mask gives effects of exactly 0, which read like a finding
(pytorch/pytorch#122753, huggingface/transformers#27539).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from vlmdx.mechanism.clean import EngineError, text_model
from vlmdx.mechanism.reference import installed, log_probabilities
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, Sample, Spec
from vlmdx.models.adapter import Adapter

# Two attention implementations differ by rounding: measured 2e-6 (float32, tiny models); bfloat16 has 8 bits.
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.1}


def attention_weights(adapter: Adapter, sample: Sample, spec: Spec) -> Tensor:
    """Attention weights of the answer position in the layer of ``spec``, under it: float32 [heads, length].

    Read from the eager implementation, the only one that returns them.
    """
    seen: list[Tensor] = []

    def watch(module: nn.Module, args: tuple, output: tuple) -> None:
        seen.append(output[1][0, :, len(sample.ids) - 1].float())

    attention: Any = adapter.decoder_layers[spec.layer].self_attn
    with eager(adapter), installed(adapter, sample, spec):
        handle = attention.register_forward_hook(watch)
        try:
            log_probabilities(adapter, sample)
        finally:
            handle.remove()
    return seen[0]


@torch.inference_mode()
def prove_knockout(adapter: Adapter, sample: Sample) -> None:
    """Check attention knockouts of all layers on one sample with a grounding set.

    Raises:
        EngineError: a cut weight is not 0, a row of weights does not sum to 1, or the model's own attention
            implementation gives another result than the eager one, i.e. ignores the mask.
    """
    cut = list(sample.tokens)
    for layer in range(len(adapter.decoder_layers)):
        spec = Spec(ATTENTION_KNOCKOUT, layer)
        weights = attention_weights(adapter, sample, spec)
        if weights[:, cut].any() or (weights.sum(-1) - 1).abs().max() > 1e-2:
            raise EngineError(f"{adapter.source}: layer {layer}: an attention knockout leaves weight on what it cuts")
        with installed(adapter, sample, spec):
            own = log_probabilities(adapter, sample)
        with eager(adapter), installed(adapter, sample, spec):
            plain = log_probabilities(adapter, sample)
        difference = (own - plain)[list(sample.letters)].abs().max().item()
        if not difference <= TOLERANCE[adapter.model.dtype]:
            raise EngineError(
                f"{adapter.source}: layer {layer}: attention {text_model(adapter).config._attn_implementation!r} gives "
                f"log-probabilities that are {difference:.2g} from eager attention's under a knockout; load with eager"
            )


@contextmanager
def eager(adapter: Adapter) -> Iterator[None]:
    """Run the decoder with eager attention."""
    config = text_model(adapter).config
    before = config._attn_implementation
    try:
        config._attn_implementation = "eager"
        yield
    finally:
        config._attn_implementation = before
