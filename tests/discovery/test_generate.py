"""Greedy answers of real architectures: alone, in company, and by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from vlmdx.demo.draw import draw
from vlmdx.demo.scene import HELD_OUT_FIRST, sample_scene
from vlmdx.discovery.answerer import ModelAnswerer
from vlmdx.discovery.examine import examine
from vlmdx.discovery.generate import Greedy, generate
from vlmdx.discovery.prompted import VerifierPrompts
from vlmdx.discovery.roles import Question
from vlmdx.discovery.verify_model import model_verifier
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

from tests.discovery.fakes import FakeAnswerer
from tests.models.conftest import opened
from tests.models.tiny import picture

RESOURCES = Path(__file__).parents[2] / "resources"
TEXT = (RESOURCES / "prompts/text.txt").read_text()
LONG = 10**6
MAX_TOKENS = 5

# Mixed lengths and picture sizes, so that every row but one is padded.
PROMPTS = ["a", "Is it red?", "what is to the left of the small thing in the middle of the picture, and is it blue?"]
PICTURES = [picture(96, 64, 1), picture(64, 96, 2), picture(70, 70, 3)]


# Any resolution, one crop, tiles, a sliding window. Opening all of tests.models.conftest.EVERY takes a minute; with the
# rest of them these tests were seen to pass too.
TINY = ["qwen", "llava", "smolvlm", "gemma3", "paligemma"]


@pytest.fixture(scope="module", params=TINY)
def tiny(request, tmp_path_factory):
    return opened(request.param, tmp_path_factory.mktemp("tiny") / request.param)


@pytest.fixture(scope="module", params=["qwen-demo", "llava-demo"])
def demo(request):
    return load(str(RESOURCES / "models" / request.param), device="cpu")


def test_a_reply_does_not_depend_on_its_company(tiny):
    alone = [generate(tiny, [p], [i], MAX_TOKENS, LONG)[0] for p, i in zip(PROMPTS, PICTURES, strict=True)]
    together = generate(tiny, PROMPTS, PICTURES, MAX_TOKENS, LONG)
    backwards = generate(tiny, PROMPTS[::-1], PICTURES[::-1], MAX_TOKENS, 1)[::-1]
    for one, other, third in zip(alone, together, backwards, strict=True):
        assert (one.text, one.tokens, one.finished) == (other.text, other.tokens, other.finished)
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3)
        assert one == third


def test_a_reply_is_the_likeliest_token_after_token(tiny):
    (reply,) = generate(tiny, PROMPTS[1:2], PICTURES[1:2], MAX_TOKENS, LONG)
    ids, total = tiny.encode(tiny.render(PROMPTS[1]), PICTURES[1]), 0.0
    for given in range(reply.tokens):
        logits = tiny.logits([Row(ids, 0, keep=given + 1)], PICTURES[1:2])[0, -1]
        total += float(logits.log_softmax(-1).max())
        ids = torch.cat([ids, logits.argmax()[None]])
    start = len(ids) - reply.tokens
    assert reply.text == tiny.processor.tokenizer.decode(ids[start:], skip_special_tokens=True).strip()
    assert reply.logprob == pytest.approx(total, abs=1e-3)


def test_a_reply_depends_on_the_picture(demo):
    scene = [Image.fromarray(draw(0, sample_scene(0, HELD_OUT_FIRST + n))) for n in range(12)]
    said = generate(demo, [TEXT.replace("{question}", "What color is the circle?")] * 12, scene, MAX_TOKENS, LONG)
    assert len({reply.text for reply in said}) > 2


@pytest.mark.parametrize("limit", [1, 3])
def test_g05_a_reply_ends_at_any_end_token_and_says_whether_it_did(tiny, limit, monkeypatch):
    (reply,) = generate(tiny, PROMPTS[:1], PICTURES[:1], limit, LONG)
    assert reply.tokens <= limit and reply.finished is (reply.tokens < limit)
    ids = tiny.encode(tiny.render(PROMPTS[0]), PICTURES[0])
    second = int(tiny.logits([Row(ids, 0)], PICTURES[:1])[0, -1].argmax())
    eos = tiny.processor.tokenizer.eos_token_id
    monkeypatch.setattr(tiny.model.generation_config, "eos_token_id", [eos, second])
    (stopped,) = generate(tiny, PROMPTS[:1], PICTURES[:1], limit, LONG)
    assert (stopped.text, stopped.tokens, stopped.logprob, stopped.finished) == ("", 0, 0.0, True)


def test_the_models_own_sampling_settings_change_nothing(demo, monkeypatch):
    scene = [Image.fromarray(draw(0, sample_scene(0, HELD_OUT_FIRST)))]
    before = generate(demo, ["Is there a red circle?"], scene, MAX_TOKENS, LONG)
    for name, value in {"do_sample": True, "temperature": 9.0, "repetition_penalty": 9.0, "min_length": 500}.items():
        monkeypatch.setattr(demo.model.generation_config, name, value)
    assert generate(demo, ["Is there a red circle?"], scene, MAX_TOKENS, LONG) == before


def test_logits_that_are_no_numbers_are_an_error():
    with pytest.raises(ValueError, match="not numbers"):
        Greedy()(torch.zeros(1, 1), torch.full((1, 4), torch.nan))


def test_demo_answerer_names_the_colour_of_things(demo):
    asked, gold = [], []
    for number in range(60):
        scene = sample_scene(0, HELD_OUT_FIRST + 77_000 + number)
        circles = [thing for thing in scene.things if thing.shape == "circle"]
        if len(circles) == 1:
            image = Image.fromarray(draw(0, scene))
            asked.append(Question(scene.image_id, image, "What color is the circle?"))
            gold.append(circles[0].color)
    answers = ModelAnswerer(demo, TEXT).answer(asked)
    right = np.mean([answer.text == color for answer, color in zip(answers, gold, strict=True)])
    assert len(asked) > 20 and right > 0.9
    assert all(-20 < answer.logprob <= 0 for answer in answers)
    blank = [Question(q.image_id, Image.new("RGB", q.image.size, "gray"), q.text) for q in asked[:2]]
    first, second = ModelAnswerer(demo, TEXT).answer(blank)
    assert first == second


def test_garbage_of_a_random_verifier_is_undecided_and_nobody_is_asked(tiny):
    prompts = VerifierPrompts(
        *((RESOURCES / f"prompts/{kind}.txt").read_text() for kind in ("validity", "reference", "judge"))
    )
    verifier = model_verifier(tiny, prompts, max_tokens=6)
    answerer = FakeAnswerer()
    asked = [Question(str(n), image, f"Is thing {n} red?") for n, image in enumerate(PICTURES)]
    found = examine(asked, answerer, verifier)
    assert [e.valid for e in found] == [None] * 3 and answerer.asked == []
    assert all("no JSON" in e.validity.detail for e in found)
    judged = verifier.judge(asked, FakeAnswerer().answer(asked))
    assert [j.verdict for j in judged] == ["undecided"] * 3
