"""How the demo models are trained: packs equal single prompts, labels fit the picture, a killed training resumes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from vlmdx.demo.architectures import NAMES, build
from vlmdx.demo.lessons import Mix, Prompts, dense_labels, lesson
from vlmdx.demo.pack import Packer
from vlmdx.demo.scene import CANVAS, COLORS, DEMO_FIRST, HELD_OUT_FIRST, SHAPES, SIZES, TRAIN_FIRST, sample_scene
from vlmdx.demo.stages import Stage, default_stages, rate, stage_of
from vlmdx.demo.train import train

PROMPTS = Prompts(
    letter="{question}\n{options}\nAnswer with the option's letter from the given choices directly.\n",
    text="{question}\nAnswer the question using a single word or phrase.\n",
)
TINY = (Stage("see", 2, 2, Mix(), dense=1.0), Stage("ask", 4, 2, Mix(pair=1, text=1, letter=1, find=1)))


@pytest.fixture(scope="module", params=NAMES)
def packer(request) -> Packer:
    return Packer(*build(request.param, seed=3))


@torch.no_grad()
def test_packed_logits_are_those_of_the_single_prompt(packer):
    _, pixels, segments = lesson(packer, PROMPTS, 1, 12, Mix(pair=1, text=2, letter=2, find=1))
    other = lesson(packer, PROMPTS, 1, 13, Mix(text=1))[1:3]
    seen = packer.image_tokens([pixels, other[0]])
    logits, _, _, kinds = packer.gather(packer.hidden(seen, [segments, other[1]]), [segments, other[1]])
    compared = 0
    number = 0
    for segment in segments:
        for position, *_ in segment.targets:
            if kinds[number] in ("text", "letter", "find"):
                text = packer.processor.tokenizer.decode(segment.ids[: position + 1 - len(packer.after)])
                batch = packer.prompt(text, pixels)
                assert batch["input_ids"][0, len(packer.shared) :].tolist() == segment.ids[: position + 1]
                alone = packer.model(**batch).logits[0, -1]
                torch.testing.assert_close(logits[number], alone, atol=1e-5, rtol=1e-4)
                compared += 1
            number += 1
    assert compared == 5


@torch.no_grad()
def test_a_segment_sees_the_image_and_not_its_neighbours(packer):
    _, pixels, segments = lesson(packer, PROMPTS, 1, 12, Mix(text=3))
    seen = packer.image_tokens([pixels])
    start = len(packer.shared) + len(segments[0].ids)
    span = slice(start, start + len(segments[1].ids))
    alone = packer.hidden(seen, [segments])[0][0, span]
    swapped = packer.hidden(seen, [[*segments[:1], segments[1], segments[0]]])[0][0, span]
    torch.testing.assert_close(alone, swapped, atol=1e-5, rtol=1e-4)
    blank = packer.hidden(torch.zeros_like(seen), [segments])[0][0, span]
    assert (alone - blank).abs().max() > 1e-3


@pytest.mark.parametrize("tokens", [25, 49])
def test_dense_labels_name_each_thing_where_it_is(tokens):
    side = int(tokens**0.5)
    cell = CANVAS / side
    things = named = 0
    for index in range(40):
        scene = sample_scene(2, index)
        labels = dense_labels(scene, tokens).reshape(side, side, 3)
        assert (labels == 0).all(-1).any(), "some background is left"
        left = {tuple(v) for v in labels.reshape(-1, 3).tolist() if v[0]}
        for t in scene.things:
            label = (1 + COLORS.index(t.color), 1 + SHAPES.index(t.shape), 1 + list(SIZES).index(t.size))
            left.discard(label)
            x, y, w, h = t.box
            for row, column in np.argwhere((labels == label).all(-1)):  # a labelled cell overlaps the box of its thing
                assert x < (column + 1) * cell and column * cell < x + w and y < (row + 1) * cell and row * cell < y + h
            things, named = things + 1, named + bool((labels == label).all(-1).any())
        assert not left, "every label belongs to a thing"
    assert named / things > 0.9  # a small thing on a cell corner covers a quarter of no cell


def test_training_held_out_and_demo_scenes_are_disjoint():
    longest = sum(s.steps * s.images for s in default_stages("qwen-demo"))
    assert DEMO_FIRST < HELD_OUT_FIRST < TRAIN_FIRST
    assert TRAIN_FIRST - HELD_OUT_FIRST > 100_000
    used = [
        stage_of(default_stages("qwen-demo"), step) for step in range(sum(s.steps for s in default_stages("qwen-demo")))
    ]
    firsts = [first for _, _, first in used]
    assert firsts[0] == 0 and firsts == sorted(set(firsts))
    assert firsts[-1] + used[-1][0].images == longest


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path):
    class Killed(Exception):
        pass

    def kill(line):
        if "step=4" in line:
            raise Killed

    train(
        "qwen-demo",
        tmp_path / "through",
        PROMPTS,
        seed=5,
        stages=TINY,
        every=2,
        save_every=2,
        bfloat16=False,
        say=lambda _: None,
    )
    with pytest.raises(Killed):
        train(
            "qwen-demo",
            tmp_path / "killed",
            PROMPTS,
            seed=5,
            stages=TINY,
            every=2,
            save_every=2,
            bfloat16=False,
            say=kill,
        )
    train(
        "qwen-demo",
        tmp_path / "killed",
        PROMPTS,
        seed=5,
        stages=TINY,
        every=2,
        save_every=2,
        bfloat16=False,
        say=lambda _: None,
    )
    through, killed = (Path(tmp_path / n / "model.safetensors").read_bytes() for n in ("through", "killed"))
    assert through == killed


def test_learning_rate_warms_up_and_decays():
    stage = Stage("x", 1000, 1, Mix(), lr=1.0, warmup=10)
    rates = [rate(stage, at) for at in range(1000)]
    assert rates[0] == pytest.approx(0.1, abs=1e-3)
    assert int(np.argmax(rates)) in range(9, 12)
    assert rates[-1] == pytest.approx(stage.floor, abs=1e-3)
