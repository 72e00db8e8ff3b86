"""A model with a planted fault shows no effect at the planted layers, and effects everywhere else."""

import pytest
import torch
from vlmdx.mechanism import reference
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_OBJECT, Spec, all_layers

from tests.mechanism.samples import make


def effect(adapter, sample, kind):
    found = reference.effects(adapter, [sample], all_layers((kind,), len(adapter.decoder_layers)))
    return (found.clean - found.logprob)[:, 0]


@pytest.mark.parametrize(("kind", "planted"), [(MLP_OBJECT, (0, 1)), (ATTENTION_KNOCKOUT, (2, 3))])
def test_what_is_already_broken_cannot_be_knocked_out(qwen3, kind, planted):
    sample = make(qwen3, "middle", 3)
    intact = effect(qwen3, sample, kind)
    with reference.installed(qwen3, sample, Spec(kind, planted[0], 2)):
        broken = effect(qwen3, sample, kind)
    working = [layer for layer in range(4) if layer not in planted]
    assert torch.equal(broken[list(planted)], torch.zeros(2))
    # an MLP at object positions of the last layer has no effect in any model
    alive = [layer for layer in working if not (kind == MLP_OBJECT and layer == 3)]
    assert broken[alive].abs().min() > 1e-4 and intact[[*planted, *alive]].abs().min() > 1e-4


def test_a_blind_model_has_no_effect_of_mean_ablation(qwen3):
    """Every image token alike after every layer: ablation replaces a token by itself."""
    sample = make(qwen3, "middle", 3)
    with torch.inference_mode():
        everything = make(qwen3, "whole", 3)
        with reference.installed(qwen3, everything, Spec(MEAN_ABLATION, 0, 4)):
            found = reference.effects(qwen3, [sample], all_layers((MEAN_ABLATION,), 4))
    assert (found.clean - found.logprob).abs().max() < 1e-5
