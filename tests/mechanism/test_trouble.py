"""Trouble that people hit with knock-outs and ablation, one test per report (section X)."""

import pytest
import torch
from PIL import Image
from vlmdx.mechanism import engine, reference
from vlmdx.mechanism.clean import EngineError
from vlmdx.mechanism.grounding import SetAside, tokens_of
from vlmdx.mechanism.proof import attention_weights, eager, prove_knockout
from vlmdx.mechanism.reference import installed, log_probabilities
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
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

from tests.mechanism.samples import gap, make


@torch.inference_mode()
def test_x01_one_query_head_of_a_group(qwen3):
    """Head 3 shares its keys with head 2; only head 3's weights change, as computed by hand from q and k."""
    sample, layer = make(qwen3, "middle", 3), 1
    attention = qwen3.decoder_layers[layer].self_attn
    assert (attention.config.num_attention_heads, attention.config.num_key_value_heads) == (4, 2)
    clean = attention_weights(qwen3, sample, Spec(ATTENTION_KNOCKOUT, layer, heads=()))
    cut = attention_weights(qwen3, sample, Spec(ATTENTION_KNOCKOUT, layer, heads=(3,)))
    assert torch.equal(cut[:3], clean[:3])
    by_hand = clean[3].clone()
    by_hand[list(sample.tokens)] = 0
    assert gap(cut[3], by_hand / by_hand.sum()) < 1e-6
    heads = {}
    handle = attention.o_proj.register_forward_pre_hook(
        lambda module, args: heads.update(out=args[0][0, -1].view(4, -1))
    )
    with installed(qwen3, sample, Spec(ATTENTION_KNOCKOUT, layer, heads=())):
        log_probabilities(qwen3, sample)
    before = heads["out"]
    with installed(qwen3, sample, Spec(ATTENTION_KNOCKOUT, layer, heads=(3,))):
        log_probabilities(qwen3, sample)
    handle.remove()
    assert gap(before[:3], heads["out"][:3]) < 1e-6 < gap(before[3], heads["out"][3])
    spec = [Spec(ATTENTION_KNOCKOUT, layer, heads=(3,))]
    fast, slow = engine.effects(qwen3, [sample], spec, 500), reference.effects(qwen3, [sample], spec)
    assert gap(fast.logprob, slow.logprob) < 1e-5


def test_x02_the_cut_is_proved_and_flash_attention_refused(adapter, monkeypatch):
    sample = make(adapter, "middle", 3)
    prove_knockout(adapter, sample)
    weights = attention_weights(adapter, sample, Spec(ATTENTION_KNOCKOUT, 0))
    assert not weights[:, list(sample.tokens)].any()
    assert gap(weights.sum(-1), torch.ones(len(weights))) < 1e-5
    specs = all_layers((ATTENTION_KNOCKOUT,), len(adapter.decoder_layers))
    found = engine.effects(adapter, [sample], specs, 500)
    assert (found.logprob - found.clean).abs().min() > 1e-4
    others = tuple(range(len(sample.ids) - 1))
    alone = Sample(sample.ids, sample.image, sample.target, sample.letters, others, others)
    weights = attention_weights(adapter, alone, Spec(ATTENTION_KNOCKOUT, 1))
    assert not weights[:, :-1].any() and (weights[:, -1] == 1).all()
    for engines in (engine, reference):
        cut = engines.effects(adapter, [alone], specs, 500)
        assert (cut.logprob - cut.clean).abs().min() > 1e-3, "the answer position reads nothing but itself"
    with eager(adapter):
        assert gap(engine.effects(adapter, [sample], specs, 500).logprob, found.logprob) < 1e-5
    nothing = reference.effects(adapter, [sample], [Spec(ATTENTION_KNOCKOUT, 0, heads=())])
    assert gap(nothing.logprob[0], nothing.clean) < 1e-6
    empty = reference.effects(adapter, [make(adapter, "none", 3)], specs)
    assert gap(empty.logprob, empty.clean.expand(len(specs), -1)) < 1e-6
    config = adapter.decoder_layers[0].self_attn.config
    monkeypatch.setattr(config, "_attn_implementation_internal", "flash_attention_2")
    for engines in (engine, reference):
        with pytest.raises(EngineError, match="may ignore the mask"):
            engines.effects(adapter, [sample], specs, 500)


def test_x02_an_implementation_that_ignores_the_mask_is_found_out(llava, monkeypatch):
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def deaf(module, query, key, value, attention_mask, **kwargs):
        return sdpa_attention_forward(module, query, key, value, None, **kwargs)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._local_mapping, "sdpa", deaf)
    with pytest.raises(EngineError, match="load with eager"):
        prove_knockout(llava, make(llava, "middle", 3))


def test_x03_hooks_fire_once_per_layer_and_go_after_an_exception(adapter):
    sample, layers = make(adapter, "middle", 3), len(adapter.decoder_layers)
    before = log_probabilities(adapter, sample)
    with installed(adapter, sample, Spec(IDENTITY_OBJECT, 0, layers)):
        assert torch.equal(log_probabilities(adapter, sample), before)
    for kind in KINDS:
        with installed(adapter, sample, Spec(kind, 0, layers)) as fired:
            log_probabilities(adapter, sample)
            log_probabilities(adapter, sample)
        assert fired == [*range(layers)] * 2
    with pytest.raises(ZeroDivisionError), installed(adapter, sample, Spec(MEAN_ABLATION, 1)):
        raise ZeroDivisionError
    assert torch.equal(log_probabilities(adapter, sample), before)

    def broken(module, args):
        raise ZeroDivisionError

    handle = adapter.decoder_layers[-1].mlp.register_forward_pre_hook(broken)
    with pytest.raises(ZeroDivisionError):
        engine.effects(adapter, [sample], all_layers(KINDS, layers), 500)
    handle.remove()
    assert torch.equal(log_probabilities(adapter, sample), before)


def test_x03_a_layer_that_runs_out_of_order_is_refused(llava):
    layers = llava.decoder_layers
    layers[0], layers[1] = layers[1], layers[0]
    handle = layers[1].register_forward_hook(lambda module, args, output: (output,))
    try:
        with pytest.raises(EngineError, match="another order"):
            engine.effects(llava, [make(llava, "middle", 3)], [Spec(IDENTITY_ANSWER, 0)], 500)
    finally:
        handle.remove()
        layers[0], layers[1] = layers[1], layers[0]


def test_x05_nothing_is_left_over_from_the_item_before(qwen):
    samples = [make(qwen, "middle", 3, size, seed=i) for i, size in enumerate([(896, 896), (56, 56)])]
    assert [len(sample.vision) for sample in samples] == [1024, 4]
    specs = [Spec(kind, 1) for kind in KINDS]
    first, small, third = (engine.effects(qwen, [samples[i]], specs, 8000) for i in (0, 1, 0))
    assert torch.equal(first.logprob, third.logprob)
    for sample, found in zip(samples, (first, small), strict=True):
        fresh = load(qwen.source, device="cpu")  # as in a fresh process: nothing ran before
        assert fresh.model.model.rope_deltas is None
        assert torch.equal(engine.effects(fresh, [sample], specs, 8000).logprob, found.logprob)
    nothing = reference.effects(qwen, samples, [Spec(ATTENTION_KNOCKOUT, 0, heads=())])
    assert gap(nothing.logprob[0], nothing.clean) < 1e-6


def thing(box):
    """An item with one object."""
    return {"objects": [dict(zip(("object_id", "x", "y", "w", "h"), ("7", *box), strict=True))]}


@pytest.mark.parametrize(
    ("size", "grid", "box", "tokens"),
    [
        ((500, 375), (13, 18), (100, 100, 5, 5), [57]),
        ((500, 375), (13, 18), (490, 360, 50, 50), [233]),
        ((640, 480), (17, 23), (0, 0, 1, 1), [0]),
    ],
)
def test_x06_boxes_on_the_grid_of_the_processor(qwen, size, grid, box, tokens):
    views = qwen.views(Image.new("RGB", size))
    assert [view.grid for view in views] == [grid]
    assert tokens_of(thing(box), ["7"], size, views, "any") == tokens


def test_x06_qwen3_cells_are_32_pixels(qwen3):
    assert [view.grid for view in qwen3.views(Image.new("RGB", (500, 375)))] == [(12, 16)]


def test_x06_box_in_the_cropped_away_part_is_set_aside(llava):
    views = llava.views(Image.new("RGB", (500, 375)))
    with pytest.raises(SetAside, match="does not look"):
        tokens_of(thing((5, 100, 50, 50)), ["7"], (500, 375), views, "any")
    assert tokens_of(thing((5, 100, 60, 50)), ["7"], (500, 375), views, "any") == [5]


@torch.inference_mode()
def test_x07_cached_and_whole_decoding_agree_under_a_knockout(adapter):
    sample = make(adapter, "middle", 3)
    sequences = {}
    for cached in (True, False):
        inputs = {**adapter.text_inputs([Row(sample.ids, 0)]), **adapter.vision_inputs([sample.image], [0])}
        with installed(adapter, sample, Spec(ATTENTION_KNOCKOUT, 1, 2)) as fired:
            ids = sample.ids[None]
            output = adapter.model(**inputs, use_cache=cached)
            for _step in range(3):
                chosen = output.logits[:, -1:].argmax(-1)
                ids = torch.cat([ids, chosen], 1)
                if cached:
                    positions = _next_positions(adapter, ids)
                    output = adapter.model(input_ids=chosen, cache=output.cache, position_ids=positions, use_cache=True)
                else:
                    whole = {**adapter.text_inputs([Row(ids[0], 0)]), **adapter.vision_inputs([sample.image], [0])}
                    output = adapter.model(**whole, use_cache=False)
        assert fired == [1, 2] * 4
        sequences[cached] = ids[0, len(sample.ids) :].tolist()
    assert sequences[True] == sequences[False]


def _next_positions(adapter, ids):
    """Position of the newest token, in as many dimensions as the family has."""
    text = adapter.text_inputs([Row(ids[0], 0)])
    if "position_ids" in text:
        return text["position_ids"][:, -1:]
    return torch.full((3, 1, 1), ids.shape[1] - 1) + adapter.model.model.rope_deltas


def test_x07_the_mean_of_a_ragged_batch_is_over_real_image_tokens_of_the_item(adapter):
    short, long = make(adapter, "middle", 1, (84, 84)), make(adapter, "middle", 50, (196, 112), seed=1)
    specs = all_layers((MEAN_ABLATION, MLP_OBJECT, MLP_ANSWER), len(adapter.decoder_layers))
    together = engine.effects(adapter, [short, long], specs, 2000)
    alone = [engine.effects(adapter, [sample], specs, 2000) for sample in (short, long)]
    assert gap(together.logprob, torch.cat([r.logprob for r in alone], 1)) < 1e-5
