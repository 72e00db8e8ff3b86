"""Pixels reach every pass of training, in a Qwen2.5-VL and in a SmolVLM; and which weights learn."""

from dataclasses import replace

import pytest
import torch
from vlmdx.discovery.log import read_log
from vlmdx.discovery.pictures import check_pictures
from vlmdx.discovery.weights import full_weights
from vlmdx.models.load import load

from tests.discovery.training import POLICY, build, pictures, small, train
from tests.models import tiny


def opened(folder):
    return load(str(folder), device="cpu")


@pytest.mark.parametrize("rank", [None, 2], ids=["all weights", "LoRA"])
def test_g07_pixels_reach_policy_and_reference_in_every_pass(random_policy, tmp_path, rank, monkeypatch):
    adapter = opened(random_policy)
    seen = []
    features = type(adapter.model).get_image_features

    def note(model, *args, **kwargs):
        seen.append((id(model), tuple(kwargs["pixel_values"].shape)))
        return features(model, *args, **kwargs)

    monkeypatch.setattr(type(adapter.model), "get_image_features", note)
    settings = small(steps=2, beta=0.1, lora_rank=rank, max_tokens=3, temperature=1.0)
    _, rows = train(tmp_path, settings, adapter=adapter)
    assert len(rows) == 2 * settings.questions
    step = 1 + 2 + 2  # sampling; the reference and the loss, each in two micro-batches
    proof = 2 * 2 + 2 * 2  # of policy and reference, with the image and its negative, in two micro-batches
    assert len(seen) == 2 * step + proof
    assert len({who for who, _ in seen}) == (2 if rank is None else 1)
    kl = [float(line["kl"]) for line in read_log(tmp_path / "log.csv")]
    assert kl[0] == pytest.approx(0, abs=1e-6)  # the policy is still the reference
    assert kl[1] > 0


def test_g07_logprobs_change_when_the_image_changes(random_policy, tmp_path):
    adapter = opened(random_policy)
    shown = pictures(2)
    trainer = build(adapter, shown, small(steps=1, max_tokens=3, temperature=1.0), tmp_path)
    batch = trainer._generate_and_score_completions([{"step": 0, "place": i // 4} for i in range(8)])
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    keep = batch["completion_ids"].shape[1]
    swapped = {"demo:0": shown[1].image, "demo:1": shown[0].image}
    seen, other = (
        trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, keep, images=images)[0]
        for images in (None, swapped)
    )
    assert ((seen - other).abs().amax(1) > 1e-4).all()


def test_g07_a_policy_that_does_not_see_is_refused(random_policy, tmp_path, monkeypatch):
    adapter = opened(random_policy)
    sees, blank = type(adapter).vision_inputs, tiny.picture(140, 140)
    monkeypatch.setattr(
        type(adapter), "vision_inputs", lambda self, images, which: sees(self, [blank] * len(images), which)
    )
    with pytest.raises(ValueError, match="policy's log-probabilities are the same for an image and its negative"):
        train(tmp_path, small(steps=1, max_tokens=3, temperature=1.0), adapter=adapter)


@pytest.mark.parametrize("nothing", [None, [], b""], ids=["None", "empty list", "no bytes"])
def test_g07_a_row_without_an_image_is_refused_by_its_id(nothing):
    shown = pictures(3)
    shown[1] = replace(shown[1], png=nothing)
    with pytest.raises(ValueError, match=r"1 of 3 rows have no image \(first: \['demo:1'\]\)"):
        check_pictures(shown)


def test_full_weights_in_half_precision_are_refused():
    adapter = load(POLICY.source, device="cpu", dtype="bfloat16")
    with pytest.raises(ValueError, match=r"loaded as torch.bfloat16, in which most updates .* set `lora_rank`"):
        full_weights(adapter)
