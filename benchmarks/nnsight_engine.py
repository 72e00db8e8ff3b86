"""The same interventions through nnsight, one traced forward pass per intervention; for the benchmark alone."""

from collections.abc import Sequence
from typing import Any

import torch
from vlmdx.mechanism.reference import knockout_mask
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_OBJECT, Sample, Spec
from vlmdx.models.adapter import Adapter, Row


class NNSightEngine:
    """A traced model.

    Raises:
        ImportError: nnsight is not installed.
    """

    def __init__(self, adapter: Adapter, sample: Sample) -> None:
        try:
            from nnsight import NNsight
        except ImportError as error:
            raise ImportError(
                f"nnsight cannot be imported ({error}); `pip install nnsight` to compare with it"
            ) from error
        self.adapter, self.sample = adapter, sample
        self.model: Any = NNsight(adapter.model)

    def __call__(self, specs: Sequence[Spec]) -> torch.Tensor:
        """Log-probabilities of the gold token, by spec."""
        return torch.stack([self.under(spec) for spec in specs])

    def under(self, spec: Spec) -> torch.Tensor:
        """Log-probability of the gold token under one intervention."""
        sample = self.sample
        tokens, vision, answer = list(sample.tokens), list(sample.vision), len(sample.ids) - 1
        inputs = {**self.adapter.text_inputs([Row(sample.ids, 0)]), **self.adapter.pixels([sample.image])}
        layer = self.model.model.language_model.layers[spec.layer]
        native = self.adapter.decoder_layers[spec.layer]
        with self.model.trace(**inputs, use_cache=False, logits_to_keep=1):
            if spec.kind == ATTENTION_KNOCKOUT:
                args, kwargs = layer.inputs
                mask = knockout_mask(native, args[0], kwargs, answer, tokens)
                layer.inputs = (args, {**kwargs, "attention_mask": mask})
            elif spec.kind == MEAN_ABLATION:
                layer.output[:, tokens] = layer.output[:, vision].mean(1, keepdim=True)
            else:
                layer.mlp.output[:, tokens if spec.kind == MLP_OBJECT else [answer]] = 0
            logits = self.model.lm_head.output.save()
        return logits[0, -1].float().log_softmax(-1)[sample.target]
