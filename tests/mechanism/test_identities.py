"""What holds exactly, whatever the weights: in every family with the reference, the fast engine, and the bridge."""

import pytest
import torch
from vlmdx.mechanism import bridge, engine, reference
from vlmdx.mechanism.clean import EngineError
from vlmdx.mechanism.sample import (
    ATTENTION_KNOCKOUT,
    IDENTITY_ANSWER,
    IDENTITY_OBJECT,
    MEAN_ABLATION,
    MLP_ANSWER,
    MLP_OBJECT,
    Sample,
    Spec,
    all_layers,
)

from tests.mechanism.samples import gap, make, open_tiny
from tests.models.conftest import EVERY
from tests.models.tiny_families import ATTENTION

UNBRIDGED = ("qwen2_vl", "internvl", "smolvlm", "paligemma")  # transformer-lens 4.3 has no bridge for them
ENGINES = {"reference": reference.effects, "fast": engine.effects, "bridge": bridge.effects}
NOT = {("fast", "paligemma"), *(("bridge", name) for name in UNBRIDGED)}  # each refused by name, tested as well
RUNS = [(name, kind) for name in EVERY for kind in ENGINES if (kind, name) not in NOT]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Tiny models by family, opened once."""
    made = {}

    def get(name):
        if name not in made:
            attention = ATTENTION.get(name, "sdpa")
            made[name] = open_tiny(name, tmp_path_factory.mktemp("identities") / name, 2, attention=attention)
        return made[name]

    return get


@pytest.mark.parametrize(("name", "kind"), RUNS, ids=["-".join(run) for run in RUNS])
def test_identities(models, name, kind):
    if kind == "bridge":
        pytest.importorskip("transformer_lens", reason="transformer-lens is not installed")
    adapter, run = models(name), ENGINES[kind]
    layers = len(adapter.decoder_layers)
    at_object, last = (MEAN_ABLATION, MLP_OBJECT), layers - 1
    empty, sample = make(adapter, "none", 3, (84, 84)), make(adapter, "middle", 5, (84, 84), seed=1)
    alone = Sample(sample.ids, sample.image, sample.target, sample.letters, sample.tokens[:1], sample.tokens[:1])
    specs = all_layers((*at_object, ATTENTION_KNOCKOUT), layers)
    found = run(adapter, [empty, sample, alone], specs, 500)
    # the last layer's mean ablation and MLP at the object: nothing but the answer position is read after it
    for spec, logprob in zip(specs, found.logprob[:, 1], strict=True):
        if spec.kind in at_object and spec.layer == last:
            assert torch.equal(logprob, found.clean[1])
        else:
            assert abs(logprob - found.clean[1]) > 1e-5, f"{spec} does nothing at all"
    # no grounding set: nothing happens; an explicit mask may take another kernel than an implied one
    assert gap(found.logprob[:, 0], found.clean[:1].expand(len(specs))) < 2e-6
    # a token that equals the mean: the only image token
    assert gap(found.logprob[:layers, 2], found.clean[2:].expand(layers)) < 2e-6


@pytest.mark.parametrize(
    ("name", "kind"),
    [run for run in RUNS if run[1] != "fast"],
    ids=str,
)
def test_an_inactive_hook_changes_no_bit(models, name, kind):
    adapter, sample = models(name), make(models(name), "middle", 5, (84, 84))
    layers = len(adapter.decoder_layers)
    specs = [*all_layers((IDENTITY_OBJECT, IDENTITY_ANSWER), layers), Spec(IDENTITY_OBJECT, 0, layers)]
    if kind == "bridge":
        pytest.importorskip("transformer_lens", reason="transformer-lens is not installed")
    found = ENGINES[kind](adapter, [sample], specs, 500)
    assert torch.equal(found.logprob[:, 0], found.clean.expand(len(specs)))
    with torch.inference_mode():
        clean = reference.log_probabilities(adapter, sample)
        with reference.installed(adapter, sample, Spec(IDENTITY_OBJECT, 0, layers)):
            assert torch.equal(reference.log_probabilities(adapter, sample), clean)


@pytest.mark.parametrize("name", UNBRIDGED)
def test_a_family_without_bridge_is_refused_by_name(models, name):
    pytest.importorskip("transformer_lens", reason="transformer-lens is not installed")
    adapter = models(name)
    with pytest.raises(EngineError, match=f"no bridge for {type(adapter.model).__name__}"):
        bridge.effects(adapter, [make(adapter, "middle", 3)], [Spec(MLP_ANSWER, 0)])
