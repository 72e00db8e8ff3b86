"""The interventions through transformer-lens's TransformerBridge: hook points named alike in all families.

The bridge gets a copy of the model, unprocessed weights and our own input ids, and must give the model's own
log-probabilities before anything is hooked (TransformerLensOrg/TransformerLens#693: centred unembedding, added BOS).
Where a family's bridge keeps the native attention, `attn.hook_pattern` fires after the fact and an edit changes
nothing, silently (seen on Qwen2.5-VL and Qwen3-VL with transformer-lens 4.3; it works on LLaVA and Idefics3). Whether
it does is tried on every layer; there the knockout sets the layer's own 4-D mask instead.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from vlmdx.mechanism import reference
from vlmdx.mechanism.clean import EngineError, check_attention
from vlmdx.mechanism.reference import gold_log_probability
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Result, Sample, Spec
from vlmdx.models.adapter import Adapter, Row

PARITY = 1e-4  # largest difference of log-probabilities, float32
Hook = tuple[str, Callable[[Tensor, Any], Tensor]]


class Bridge:
    """A bridged copy of the adapter's model.

    Raises:
        EngineError: transformer-lens is not installed or has no bridge for the family, or the bridge does not give the
            model's log-probabilities.
    """

    def __init__(self, adapter: Adapter, sample: Sample) -> None:
        check_attention(adapter)
        try:
            from transformer_lens.model_bridge import TransformerBridge
        except ImportError as error:
            raise EngineError("engine: bridge needs transformer-lens; install it, or use engine: reference") from error
        self.adapter = replace(adapter, model=_untied(copy.deepcopy(adapter.model)))
        try:
            self.bridge = TransformerBridge.boot_transformers(
                adapter.source,
                hf_model=self.adapter.model,
                tokenizer=adapter.processor.tokenizer,
                device=adapter.model.device,
                dtype=adapter.model.dtype,
            )
        except ValueError as error:  # transformer-lens lists all architectures it has
            name = type(adapter.model).__name__
            raise EngineError(
                f"{adapter.source}: transformer-lens has no bridge for {name}; use engine: fast or engine: reference"
            ) from error
        own, bridged = reference.answer_log_probabilities(adapter, sample), self.log_probabilities(sample, [])
        difference = (own - bridged).abs().max().item()
        if not difference <= (PARITY if adapter.model.dtype == torch.float32 else 0.1):
            raise EngineError(f"{adapter.source}: the bridge's log-probabilities differ by {difference:.2g}")
        self.pattern_acts = [self._acts(sample, layer, bridged) for layer in range(len(adapter.decoder_layers))]

    def log_probabilities(self, sample: Sample, hooks: Sequence[Hook]) -> Tensor:
        """float32 [gold tokens, vocabulary] at the positions that predict the gold answer, under hooks."""
        count = len(sample.gold)
        inputs: dict[str, Any] = {
            **self.adapter.text_inputs([Row(sample.sequence, 0, count)]),
            **self.adapter.pixels([sample.image]),
        }
        ids = inputs.pop("input_ids")
        logits = self.bridge.run_with_hooks(ids, return_type="logits", fwd_hooks=list(hooks), **inputs)
        return logits[0, -count:].float().log_softmax(-1)

    def under(self, sample: Sample, spec: Spec) -> Tensor:
        """float32 [gold tokens, vocabulary] under one intervention."""
        layers = range(spec.layer, spec.layer + spec.layers)
        if spec.kind == ATTENTION_KNOCKOUT and not all(self.pattern_acts[layer] for layer in layers):
            with reference.installed(_native(self.adapter), sample, spec) as fired:
                found = self.log_probabilities(sample, [])
            if fired != list(layers):
                raise EngineError(f"{self.adapter.source}: mask hooks of {spec} fired in layers {fired}")
            return found
        return self.log_probabilities(sample, [_hook(sample, spec, layer) for layer in layers])

    def _acts(self, sample: Sample, layer: int, clean: Tensor) -> bool:
        """Whether an edit of the attention pattern of ``layer`` reaches the logits."""

        def scramble(pattern: Tensor, hook: Any) -> Tensor:
            return pattern.flip(-1)

        return not torch.equal(self.log_probabilities(sample, [(f"blocks.{layer}.attn.hook_pattern", scramble)]), clean)


@torch.inference_mode()
def effects(adapter: Adapter, samples: Sequence[Sample], specs: Sequence[Spec], batch_tokens: int = 0) -> Result:
    """As :func:`vlmdx.mechanism.engine.effects`, sample by sample and spec by spec, through the bridge.

    Raises:
        EngineError: see :class:`Bridge`.
    """
    bridge = Bridge(adapter, samples[0])
    clean = [bridge.log_probabilities(sample, []) for sample in samples]
    changed = [[gold_log_probability(bridge.under(sample, spec), sample) for sample in samples] for spec in specs]
    return Result(
        torch.stack([gold_log_probability(found, s) for s, found in zip(samples, clean, strict=True)]).cpu(),
        torch.stack([torch.stack(row) for row in changed]).cpu(),
        [found[0, list(s.letters)].cpu() for s, found in zip(samples, clean, strict=True)],
    )


def _untied(model: Any) -> Any:
    """The model with output embeddings of their own, or an edit of W_U would change the input as well (TL#671)."""
    output = model.get_output_embeddings()
    if output.weight is model.get_input_embeddings().weight:
        output.weight = nn.Parameter(output.weight.detach().clone(), requires_grad=False)
        model.config.tie_word_embeddings = model.config.get_text_config().tie_word_embeddings = False
    return model


def _hook(sample: Sample, spec: Spec, layer: int) -> Hook:
    tokens, vision, answers = list(sample.tokens), list(sample.vision), list(sample.answers)

    def ablate(hidden: Tensor, hook: Any) -> Tensor:
        hidden = hidden.clone()
        hidden[:, tokens] = hidden[:, vision].float().mean(1, keepdim=True).to(hidden.dtype)
        return hidden

    def silence(output: Tensor, hook: Any) -> Tensor:
        output = output.clone()
        output[:, tokens if spec.kind == MLP_OBJECT else answers] = 0
        return output

    def cut(pattern: Tensor, hook: Any) -> Tensor:
        pattern = pattern.clone()
        for head in range(pattern.shape[1]) if spec.heads is None else spec.heads:
            pattern[:, head, torch.tensor(answers)[:, None], tokens] = 0
        return pattern / pattern.sum(-1, keepdim=True)

    def same(hidden: Tensor, hook: Any) -> Tensor:
        return hidden

    points = {
        MEAN_ABLATION: ("hook_out", ablate),
        MLP_OBJECT: ("mlp.hook_out", silence),
        MLP_ANSWER: ("mlp.hook_out", silence),
        ATTENTION_KNOCKOUT: ("attn.hook_pattern", cut),
    }
    name, hook = points.get(spec.kind, ("hook_out", same))
    return f"blocks.{layer}.{name}", hook


def _native(adapter: Adapter) -> Any:
    """Something whose ``decoder_layers`` are the native layers inside the bridge's blocks."""

    layers = [getattr(layer, "original_component", layer) for layer in adapter.decoder_layers]
    return SimpleNamespace(decoder_layers=layers)
