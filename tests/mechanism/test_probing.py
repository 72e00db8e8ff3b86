"""Probes on states whose answer is known, and states as the model itself has them."""

import io

import numpy as np
import pandas as pd
import pytest
import torch
from vlmdx.mechanism.probing import gaps, probe_layers, told_right
from vlmdx.mechanism.probing_states import FORMS, answer_states, pair_states
from vlmdx.mechanism.tables import PROBES
from vlmdx.models.adapter import Row
from vlmdx.schema import write_table

from tests.mechanism.samples import ragged
from tests.models.tiny import picture

N, WIDTH = 60, 8


@pytest.fixture
def groups():
    return [f"i{place // 3}" for place in range(N)]


def noise(seed=0, shape=(N, WIDTH)):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_a_direction_that_tells_them_apart_is_found(groups):
    first, second = noise(0), noise(1)
    second[:, 3] += 8
    assert told_right(first, second, groups, 5, 0).mean() > 0.97
    assert told_right(noise(0), noise(1), groups, 5, 0).mean() < 0.65


def test_what_holds_within_an_image_only_is_not_counted(groups):
    """Every image has a direction of its own: without folds by image a probe would know them all."""
    sign = np.where(np.arange(N // 3) % 2, 1, -1).repeat(3)[:, None]
    own = np.eye(N // 3, dtype=np.float32).repeat(3, 0)
    first = 5 * own * sign
    assert told_right(first, -first, groups, 5, 0).mean() <= 0.5
    assert told_right(first, -first, [str(i) for i in range(N)], 5, 0).mean() > 0.9


def test_seeded_and_few_images():
    first, second = noise(0, (4, WIDTH)), noise(1, (4, WIDTH))
    two = ["a", "a", "b", "b"]
    again = [told_right(first, second, two, 5, 0) for _ in range(2)]
    assert np.array_equal(*again) and set(again[0]) <= {0, 0.5, 1}


def pair(place, groups):
    return {
        "item_id": f"q{place}", "image_id": groups[place], "operation": "query", "reworded_is_clean": place % 2 == 1
    }  # fmt: skip


def test_layers_and_kinds(groups, tmp_path):
    """Layer 1 knows the content word, both layers know the function word; which form was clean nobody can know."""
    pairs = [pair(place, groups) for place in range(N)]
    clean = noise(0, (2, N, WIDTH))
    states = np.stack([clean, noise(1, (2, N, WIDTH)), noise(2, (2, N, WIDTH))], 2)
    states[1, :, 1, 0] += 8
    states[:, :, 2, 1] += 8
    rows = probe_layers(pairs, states, 5, 0)
    write_table(tmp_path / "probes.parquet", rows, PROBES)
    found = gaps(pd.DataFrame(rows), valid=0.05, resamples=200, confidence=0.95, seed=0)
    assert found["layer"].tolist() == [0, 1] and (found["pairs"] == N).all()
    assert (found["accuracy_reworded"] > 0.95).all() and (found["accuracy_insensitive"] < 0.65).all()
    assert found["accuracy_sensitive"][0] < 0.65 and found["accuracy_sensitive"][1] > 0.95
    assert (found["best_layer"] == 1).all() and found["valid"].all()
    assert found["best_gap_low"][0] < found["gap"][1] == found["best_gap"][0] < found["best_gap_high"][0]


def test_a_gap_of_just_the_level_is_not_valid():
    rows = [
        {"item_id": f"q{i}", "image_id": f"i{i}", "operation": o, "layer": 0, "sensitive": s, "insensitive": 0.5}
        for o, more in (("exist", 1), ("query", 2))
        for i, s in enumerate([1.0] * more + [0.5] * (10 - more))
    ]
    frame = pd.DataFrame(rows).assign(reworded=1.0)
    found = gaps(frame, valid=0.05, resamples=100, confidence=0.95, seed=0)
    assert found["best_gap"].tolist() == pytest.approx([0.05, 0.1]) and found["valid"].tolist() == [False, True]


@torch.inference_mode()
def test_states_are_the_model_s_own(adapter):
    """Ragged rows in one batch, against the model's own hidden states of each row alone."""
    samples = ragged(adapter)[:3]
    rows = [Row(sample.ids, place) for place, sample in enumerate(samples)]
    hooks = [len(layer._forward_hooks) for layer in adapter.decoder_layers]
    states = answer_states(adapter, rows, [sample.image for sample in samples])
    assert [len(layer._forward_hooks) for layer in adapter.decoder_layers] == hooks
    assert states.shape[:2] == (len(adapter.decoder_layers), 3) and states.dtype == np.float32
    for place, sample in enumerate(samples):
        inputs = {**adapter.text_inputs([Row(sample.ids, 0)]), **adapter.vision_inputs([sample.image], [0])}
        hidden = adapter.model(**inputs, output_hidden_states=True, use_cache=False).hidden_states
        # The last entry of hidden_states is after the final norm; all before it are the layers' inputs.
        for layer in range(len(adapter.decoder_layers) - 1):
            assert np.abs(states[layer, place] - hidden[layer + 1][0, -1].numpy()).max() < 1e-4


def test_pairs_in_three_forms_and_what_cannot_be_shown(llava, monkeypatch):
    def png(seed):
        stream = io.BytesIO()
        picture(140, 140, seed=seed).save(stream, "PNG")
        return stream.getvalue()

    items = {f"q{i}": {"item_id": f"q{i}", "image_id": f"i{i}", "options": ["A", "B"], "answer": 0} for i in range(4)}
    items["q3"]["options"] = [str(number) for number in range(30)]
    texts = dict(zip(FORMS, ("what color is the dog", "what color is the cat", "which color is the dog"), strict=True))
    pairs = [{"item_id": i, "image_id": item["image_id"], **texts} for i, item in items.items()]
    images = {f"i{i}": png(i) for i in range(4)}
    kept, states, aside = pair_states(llava, pairs, items, images, "{question}\n{options}\n", 200)
    assert [p["item_id"] for p in kept] == ["q0", "q1", "q2"] and states.shape[1:3] == (3, 3)
    assert [i for i, _ in aside] == ["q3"]
    assert np.abs(states[:, :, 0] - states[:, :, 1]).max() > 1e-3
    alone, single, _ = pair_states(llava, pairs[1:2], items, images, "{question}\n{options}\n", 10_000)
    assert alone == pairs[1:2] and np.abs(single[:, 0] - states[:, 1]).max() < 1e-4
