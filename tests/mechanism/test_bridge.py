"""The TransformerBridge gives the same numbers as the fast engine, wherever its hooks reach the model."""

import pytest
import torch
from vlmdx.mechanism import bridge, engine, reference
from vlmdx.mechanism.clean import EngineError
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION, Spec, all_layers

from tests.mechanism.samples import gap, ragged

pytest.importorskip("transformer_lens", reason="transformer-lens is not installed")


def test_fast_equals_bridge(adapter):
    samples, layers = ragged(adapter, gold=(1, 3, 2, 1, 1))[:3], len(adapter.decoder_layers)
    specs = [*all_layers(KINDS, layers), Spec(ATTENTION_KNOCKOUT, 1, 2, (0,))]
    before = [reference.log_probabilities(adapter, sample) for sample in samples]
    bridged, fast = bridge.effects(adapter, samples, specs), engine.effects(adapter, samples, specs, 500)
    assert gap(bridged.clean, fast.clean) < 3e-5  # up to three terms, each within 1e-5
    assert gap(bridged.logprob, fast.logprob) < 3e-5
    assert gap(bridged.logprob[:, 0], fast.logprob[:, 0]) < 1e-5
    for sample, logprobs in zip(samples, before, strict=True):
        assert torch.equal(reference.log_probabilities(adapter, sample), logprobs)


def test_x04_parity_with_tied_embeddings_and_separate_weights(qwen, monkeypatch):
    sample = ragged(qwen)[0]
    assert qwen.model.config.tie_word_embeddings
    bridged = bridge.Bridge(qwen, sample)
    with torch.inference_mode():
        assert gap(bridged.log_probabilities(sample, [])[0], reference.log_probabilities(qwen, sample)) < 1e-4
    before = qwen.model.get_input_embeddings().weight.clone()
    with torch.no_grad():
        bridged.adapter.model.get_output_embeddings().weight.add_(1)
    assert gap(bridged.bridge.W_U.T, before + 1) == 0
    for embedding in (bridged.bridge.W_E, bridged.adapter.model.get_input_embeddings().weight):
        assert torch.equal(embedding, before)
    for own in (qwen.model.get_input_embeddings(), qwen.model.get_output_embeddings()):
        assert torch.equal(own.weight, before)
    monkeypatch.setattr(bridge, "PARITY", 0.0)
    with pytest.raises(EngineError, match="differ by"):
        bridge.Bridge(qwen, sample)


def test_pattern_hook_that_changes_nothing_is_noticed(qwen, llava):
    """Pinned facts: the bridge of Qwen2.5-VL keeps native attention, LLaVA's does not."""
    assert not any(bridge.Bridge(qwen, ragged(qwen)[0]).pattern_acts)
    assert all(bridge.Bridge(llava, ragged(llava)[0]).pattern_acts)
    found = bridge.effects(qwen, ragged(qwen)[:1], [Spec(ATTENTION_KNOCKOUT, 0), Spec(MEAN_ABLATION, 0)])
    assert (found.logprob - found.clean).abs().min() > 1e-4
