"""An independent oracle: the model's own forward with the intervention written by hand inside it, no hook, no mask.

It shares no code with either engine: attention weights are zeroed and renormalised after the softmax, and a layer's or
an MLP's `forward` is replaced.
"""

import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from vlmdx.mechanism import engine, reference
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Spec

from tests.mechanism.samples import gap, make

# Grounding set at the start, in the middle and at the end of the image; gold of one and of several tokens.
CASES = [("start", ()), ("middle", (24, 25)), ("end", ())]


def gold(adapter, sample):
    """Log-probability of the gold answer by the plain model on plain inputs."""
    vision = adapter.pixels([sample.image])
    ids = torch.cat([sample.ids, torch.tensor([sample.target, *sample.more])])[None]
    marks = {"mm_token_type_ids", "token_type_ids"} & set(adapter.process(adapter.render("?"), sample.image))
    types = {name: (ids == adapter.image_token_id).int() for name in marks}
    logprobs = adapter.model(input_ids=ids, attention_mask=torch.ones_like(ids), **types, **vision, use_cache=False)
    predicted = logprobs.logits[0, len(sample.ids) - 1 : -1].log_softmax(-1)
    return predicted.gather(1, ids[0, len(sample.ids) :, None]).sum()


@pytest.fixture(params=CASES, ids=[place for place, _ in CASES])
def sample(adapter, request):
    place, more = request.param
    return make(adapter, place, 3, (112, 84), seed=len(place), more=more)


def check(adapter, sample, expected):
    """Both engines against ``expected``, by spec; the bridge is compared with the fast one elsewhere."""
    found = engine.effects(adapter, [sample, make(adapter, "one", 9)], list(expected), 500)  # in a ragged batch
    slow = reference.effects(adapter, [sample], list(expected))
    wanted = torch.stack(list(expected.values()))
    assert gap(found.logprob[:, 0], wanted) < 1e-5 * len(sample.gold)
    assert gap(slow.logprob[:, 0], wanted) < 1e-5 * len(sample.gold)
    assert (wanted - found.clean[0]).abs().max() > 0.05


@torch.inference_mode()
def test_attention_knockout(adapter, sample):
    layers = list(adapter.decoder_layers)
    expected = {}
    for number, layer in enumerate(layers):

        def by_hand(module, query, key, value, attention_mask, scaling, layer=layer, **kwargs):
            groups = query.shape[1] // key.shape[1]
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
            scores = (query @ key.transpose(-1, -2)) * scaling
            causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            weights = scores.masked_fill(~causal, -torch.inf).softmax(-1)
            if module is layer.self_attn:
                kept = torch.ones(weights.shape[-2:])
                kept[len(sample.ids) - 1 :, list(sample.tokens)] = 0
                weights = weights * kept
                weights = weights / weights.sum(-1, keepdim=True)
            return (weights @ value).transpose(1, 2), None

        config = layers[0].self_attn.config
        before = config._attn_implementation
        ALL_ATTENTION_FUNCTIONS.register("by_hand", by_hand)
        config._attn_implementation_internal = "by_hand"
        try:
            expected[Spec(ATTENTION_KNOCKOUT, number)] = gold(adapter, sample)
        finally:
            config._attn_implementation_internal = before
    check(adapter, sample, expected)


@torch.inference_mode()
def test_ablation_and_mlp(adapter, sample):
    expected = {}
    for number, layer in enumerate(adapter.decoder_layers):
        for kind in (MEAN_ABLATION, MLP_OBJECT, MLP_ANSWER):
            module = layer if kind == MEAN_ABLATION else layer.mlp
            plain = module.forward

            def changed(hidden, *args, plain=plain, kind=kind, **kwargs):
                output = plain(hidden, *args, **kwargs)
                keep = torch.ones(output.shape[1], 1)
                # what follows the last gold token but one is predicted by nobody
                keep[slice(len(sample.ids) - 1, None) if kind == MLP_ANSWER else list(sample.tokens)] = 0
                mean = output[0, list(sample.vision)].mean(0) if kind == MEAN_ABLATION else 0
                return output * keep + mean * (1 - keep)

            module.forward = changed
            try:
                expected[Spec(kind, number)] = gold(adapter, sample)
            finally:
                module.forward = plain
    check(adapter, sample, expected)
