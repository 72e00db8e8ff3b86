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
    MLP_ANSWER,
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


def test_gold_of_several_tokens(adapter, monkeypatch):
    """Interventions at every position that predicts a gold token; log-probabilities are summed."""
    monkeypatch.setattr(adapter, "padding_side", "left")
    samples, layers = ragged(adapter, gold=(3, 1, 4, 2, 3)), len(adapter.decoder_layers)
    specs = [*all_layers(KINDS, layers), Spec(MLP_ANSWER, 0, layers), Spec(ATTENTION_KNOCKOUT, 1, 2, (0, 2))]
    fast, slow = engine.effects(adapter, samples, specs, 100), reference.effects(adapter, samples, specs)
    assert gap(fast.clean, slow.clean) < 1e-5 * 4  # four terms, each within 1e-5
    assert gap(fast.logprob, slow.logprob) < 1e-5 * 4
    first = reference.effects(adapter, ragged(adapter), specs)
    assert (first.clean > slow.clean).tolist() == [True, False, True, True, True]
    for one, other in zip(first.letters, fast.letters, strict=True):
        assert gap(one, other) < 1e-5


def test_variants_run_side_by_side_in_parts(qwen, monkeypatch):
    samples, specs = ragged(qwen, gold=(3, 1, 4, 2, 3))[:3], all_layers(KINDS, 3)
    whole = engine.effects(qwen, samples, specs, 500)
    monkeypatch.setattr(engine, "ANSWER_ROWS", 5)
    assert gap(engine.effects(qwen, samples, specs, 500).logprob, whole.logprob) < 4e-5


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


def test_identity_shows_rounding_only(adapter):
    samples = ragged(adapter)
    found = engine.effects(adapter, samples, [Spec(IDENTITY_OBJECT, 0), Spec(IDENTITY_ANSWER, 0)], 500)
    assert gap(found.logprob, found.clean.expand(2, -1)) < 5e-6


def test_inactive_engine_leaves_the_model_alone(adapter):
    samples = ragged(adapter)[:2]
    before = [reference.log_probabilities(adapter, sample) for sample in samples]
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in adapter.model.modules()]
    engine.effects(adapter, samples, all_layers(KINDS, len(adapter.decoder_layers)), 500)
    assert [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in adapter.model.modules()] == hooks
    for sample, logprobs in zip(samples, before, strict=True):
        assert torch.equal(reference.log_probabilities(adapter, sample), logprobs)


@pytest.mark.parametrize(
    ("name", "attention"),
    [
        ("qwen2_vl", "sdpa"),
        ("llava_next", "eager"),
        ("llava_onevision", "sdpa"),
        ("internvl", "sdpa"),
        ("smolvlm", "eager"),
        ("gemma3", "sdpa"),
        ("gemma3", "eager"),
    ],
)
def test_other_families(name, attention, tmp_path):
    heads = (3, 1) if name == "qwen2_vl" else (4, 2)
    adapter = open_tiny(name, tmp_path / name, 7 if name == "gemma3" else 2, heads)
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
