"""The fast engine gives the reference's numbers, and both keep the identities that hold exactly."""

import pytest
import torch
from vlmdx.mechanism import engine, reference
from vlmdx.mechanism.clean import EngineError
from vlmdx.mechanism.sample import (
    ATTENTION_KNOCKOUT,
    IDENTITY_ANSWER,
    IDENTITY_OBJECT,
    KINDS,
    MEAN_ABLATION,
    MLP_ANSWER,
    MLP_OBJECT,
    Sample,
    Spec,
    all_layers,
)

from tests.mechanism.samples import gap, make, open_tiny, ragged


@pytest.mark.parametrize("side", ["right", "left"])
def test_fast_equals_reference(adapter, side, monkeypatch):
    monkeypatch.setattr(adapter, "padding_side", side)
    samples = ragged(adapter)
    assert len({len(s.ids) for s in samples}) == 5
    specs = all_layers(KINDS, len(adapter.decoder_layers))
    fast, slow = engine.effects(adapter, samples, specs, 100), reference.effects(adapter, samples, specs)
    assert gap(fast.clean, slow.clean) < 1e-5
    assert gap(fast.logprob, slow.logprob) < 1e-5
    effect = (slow.clean - slow.logprob).abs().view(len(KINDS), -1).amax(1)
    assert effect.min() > 0.05, "the comparison means nothing where the interventions do nothing"
    for one, other in zip(fast.letters, slow.letters, strict=True):
        assert gap(one, other) < 1e-5


def test_windows_of_layers_and_single_heads(adapter):
    samples = ragged(adapter)[:3]
    layers = len(adapter.decoder_layers)
    specs = [*all_layers(KINDS, layers, window=2), Spec(ATTENTION_KNOCKOUT, 1, 2, (0, 2)), Spec(ATTENTION_KNOCKOUT, 2)]
    fast, slow = engine.effects(adapter, samples, specs, 200), reference.effects(adapter, samples, specs)
    assert gap(fast.logprob, slow.logprob) < 1e-5
    single = reference.effects(adapter, samples, all_layers(KINDS, layers))
    assert gap(slow.logprob[: len(single.logprob)], single.logprob) > 0.01


def test_result_is_independent_of_batch_and_chunk(adapter):
    samples, specs = ragged(adapter), all_layers(KINDS, len(adapter.decoder_layers))
    whole = engine.effects(adapter, samples, specs, 10_000)
    alone = [engine.effects(adapter, [sample], specs, 1) for sample in reversed(samples)]
    assert gap(whole.logprob, torch.cat([r.logprob for r in reversed(alone)], 1)) < 1e-5


@pytest.mark.parametrize("engines", [engine, reference], ids=["fast", "reference"])
def test_last_layer_has_no_effect_at_the_object(adapter, engines):
    last = len(adapter.decoder_layers) - 1
    found = engines.effects(adapter, ragged(adapter), [Spec(MEAN_ABLATION, last), Spec(MLP_OBJECT, last)], 500)
    assert torch.equal(found.logprob, found.clean.expand(2, -1))


@pytest.mark.parametrize("engines", [engine, reference], ids=["fast", "reference"])
def test_empty_grounding_set_has_no_effect(adapter, engines):
    samples = [make(adapter, "none", 3), make(adapter, "middle", 5)]
    kinds = (MEAN_ABLATION, ATTENTION_KNOCKOUT, MLP_OBJECT)
    found = engines.effects(adapter, samples, all_layers(kinds, len(adapter.decoder_layers)), 500)
    assert gap(found.logprob[:, 0], found.clean[0].expand(len(found.logprob))) < 2e-6
    assert gap(found.logprob[:, 1], found.clean[1].expand(len(found.logprob))) > 0.01
    only = engines.effects(adapter, samples[:1], [Spec(MEAN_ABLATION, 0)], 500)
    assert torch.equal(only.logprob[0], only.clean)


def test_identity_shows_rounding_only(adapter):
    samples = ragged(adapter)
    found = engine.effects(adapter, samples, [Spec(IDENTITY_OBJECT, 0), Spec(IDENTITY_ANSWER, 0)], 500)
    assert gap(found.logprob, found.clean.expand(2, -1)) < 5e-6


def test_token_that_equals_the_mean(qwen):
    """An image of one colour with one token: the mean over the image tokens is that token."""
    sample = make(qwen, "whole", 3, size=(28, 28))
    one = Sample(sample.ids, sample.image, sample.target, sample.letters, sample.vision[:1], sample.vision[:1])
    specs = all_layers((MEAN_ABLATION,), 3)
    for engines in (engine, reference):
        found = engines.effects(qwen, [one], specs, 500)
        assert gap(found.logprob, found.clean.expand(3, 1)) < 1e-6


def test_inactive_engine_leaves_the_model_alone(adapter):
    samples = ragged(adapter)[:2]
    before = [reference.log_probabilities(adapter, sample) for sample in samples]
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in adapter.model.modules()]
    engine.effects(adapter, samples, all_layers(KINDS, len(adapter.decoder_layers)), 500)
    assert [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in adapter.model.modules()] == hooks
    for sample, logprobs in zip(samples, before, strict=True):
        assert torch.equal(reference.log_probabilities(adapter, sample), logprobs)


@pytest.mark.parametrize("name", ["llava_next", "llava_onevision", "internvl", "gemma3"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_other_families(name, attention, tmp_path):
    adapter = open_tiny(name, tmp_path / name, 7 if name == "gemma3" else 3, (4, 2))
    adapter.model.set_attn_implementation(attention)
    samples = [make(adapter, "middle", 18), make(adapter, "end", 2, (112, 196))]  # longer than Gemma's window of 64
    specs = all_layers(KINDS, len(adapter.decoder_layers))
    fast, slow = engine.effects(adapter, samples, specs, 100), reference.effects(adapter, samples, specs)
    assert gap(fast.logprob, slow.logprob) < 1e-5


def test_a_family_whose_prompt_reads_the_answer_position_is_refused(tmp_path):
    adapter = open_tiny("paligemma", tmp_path / "paligemma", 2, attention="eager")
    sample = make(adapter, "middle", 3)
    with pytest.raises(EngineError, match="engine: reference"):
        engine.effects(adapter, [sample], [Spec(MLP_ANSWER, 0)], 500)
    assert reference.effects(adapter, [sample], [Spec(MLP_ANSWER, 0)]).logprob.isfinite().all()


def test_model_that_changes_its_logits_after_the_head_is_refused(llava, monkeypatch):
    logits = type(llava).logits
    monkeypatch.setattr(type(llava), "logits", lambda self, *args: logits(self, *args) * 0.5)
    with pytest.raises(EngineError, match="differs from the model"):
        engine.effects(llava, [make(llava, "middle", 3)], [Spec(MLP_ANSWER, 0)], 500)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_stays_near_float32(tmp_path, dtype):
    adapter = open_tiny("llava", tmp_path / "llava-1.5", 3)
    samples, specs = ragged(adapter), all_layers(KINDS, 3)
    exact = engine.effects(adapter, samples, specs, 500)
    adapter.model.to(dtype)
    found = engine.effects(adapter, samples, specs, 500)
    assert found.logprob.dtype == torch.float32
    assert gap(found.logprob, exact.logprob) < 0.5


def test_grounding_set_outside_the_image_is_an_error(llava):
    sample = make(llava, "middle", 3)
    with pytest.raises(ValueError, match="no image token"):
        Sample(sample.ids, sample.image, sample.target, sample.letters, sample.vision, (0,))
