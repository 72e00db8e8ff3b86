"""A drawn question depends on weights, prompt, image and seed, and holds nothing that a prompt alone may hold."""

import math

import pytest
import torch
from transformers import GenerationConfig
from vlmdx.discovery.sample import Choice, ask, banned_ids, end_ids, seed_of, turn_end
from vlmdx.models.tokens import PromptError

from tests.discovery.training import POLICY, pictures
from tests.models import tiny, tiny_families

PROMPTS = ["Ask one short question about the image.", "Ask.", "Ask a question about the color of the red circle."]


@pytest.fixture(scope="module")
def demo():
    return POLICY.open()


@pytest.fixture(scope="module")
def shown():
    return [picture.image for picture in pictures(3)]


def drawn(adapter, shown, size, order=range(9), temperature=3.0):
    order = list(order)
    made = ask(
        adapter,
        [PROMPTS[i % 3] for i in order],
        [shown[i // 3] for i in order],
        [seed_of("question", i) for i in order],
        temperature,
        6,
        batch_size=size,
    )
    return dict(zip(order, made, strict=True))


def test_neither_company_nor_order_changes_a_question(demo, shown):
    whole = drawn(demo, shown, size=9)
    assert len({said.text for said in whole.values()}) > 5
    for other in (drawn(demo, shown, size=1), drawn(demo, shown, size=4), drawn(demo, shown, 5, range(8, -1, -1))):
        for i, said in whole.items():
            assert other[i].ids == said.ids
            assert other[i].logprob == pytest.approx(said.logprob, abs=1e-4)


def test_another_seed_gives_another_question(demo, shown):
    made = ask(demo, PROMPTS[:1] * 8, shown[:1] * 8, [seed_of("a", i) for i in range(8)], 3.0, 6)
    assert len({said.ids for said in made}) == 8


def test_logprob_is_that_of_the_whole_question_in_one_pass(demo, shown):
    (said,) = ask(demo, PROMPTS[:1], shown[:1], [5], 3.0, 6)
    inputs = demo.process(demo.render(PROMPTS[0]), shown[0])
    ids = torch.cat([inputs["input_ids"], torch.tensor([said.ids])], dim=1)
    inputs |= {"input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": (ids == 6).int()}
    with torch.no_grad():
        logits = demo.model(**inputs).logits[0, -len(said.ids) - 1 : -1] / 3.0
    logits[:, banned_ids(demo)] = -math.inf
    expected = logits.log_softmax(-1).gather(-1, torch.tensor(said.ids)[:, None]).sum()
    assert said.logprob == pytest.approx(float(expected), abs=1e-4)


def test_tokens_come_as_often_as_their_probabilities_say():
    scores = torch.log(torch.tensor([[0.5, 0.0, 0.2, 0.3]])).expand(4000, -1)
    choose = Choice([seed_of("frequency", i) for i in range(4000)], 1.0, 1, banned=[3])
    picked = choose(torch.zeros(4000, 1), scores.clone()).argmax(-1).bincount(minlength=4) / 4000
    assert picked[1] == picked[3] == 0
    assert float(picked[0]) == pytest.approx(5 / 7, abs=0.03)


def test_one_token_is_left_and_its_probability_kept():
    scores = torch.tensor([[0.0, 1.0, 2.0]])
    choose = Choice([1], 0.5, 1, banned=[])
    left = choose(torch.zeros(1, 1), scores)
    assert left.isfinite().sum() == 1
    assert torch.allclose(choose.logprobs[0], (scores / 0.5).log_softmax(-1)[0, left.argmax()])


def test_logits_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="logits are not numbers"):
        Choice([1], 1.0, 1, banned=[])(torch.zeros(1, 1), torch.tensor([[math.nan, 0.0]]))


@pytest.mark.parametrize("token", ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|im_start|>"])
def test_g04_a_bias_that_forces_a_vision_token_puts_none_into_a_question(demo, shown, token, monkeypatch):
    number = demo.processor.tokenizer.convert_tokens_to_ids(token)
    assert number in banned_ids(demo)
    config = GenerationConfig(**demo.model.generation_config.to_dict() | {"sequence_bias": [[[number], 1000.0]]})
    monkeypatch.setattr(demo.model, "generation_config", config)
    with monkeypatch.context() as unguarded:
        unguarded.setattr("vlmdx.discovery.sample.banned_ids", lambda adapter: [])
        assert all(set(said.ids) == {number} for said in drawn(demo, shown, 9).values())
    for said in drawn(demo, shown, 9).values():
        assert said.tokens > 0
        assert number not in said.ids


@pytest.mark.parametrize("family", ["smolvlm", "idefics3", "gemma3"])
def test_g04_image_tokens_of_other_families_are_banned(family, tmp_path):
    adapter = tiny_families.opened(family, tmp_path)
    banned = banned_ids(adapter)
    assert adapter.image_token_id in banned
    assert not set(banned) & set(end_ids(adapter))
    made = ask(adapter, ["Ask."] * 2, [tiny.picture(60, 60, i) for i in range(2)], [1, 2], 1.0, 5)
    assert not any(set(said.ids) & set(banned) for said in made)


def test_g04_a_prompt_is_never_cut_to_make_room(demo, shown):
    long = "Ask about " + " ".join(["red"] * 1900)
    (said,) = ask(demo, [long], shown[:1], [1], 1.0, 4)  # its 1,940 tokens are more than any usual prompt limit
    assert said.tokens > 0
    with pytest.raises(PromptError, match=r"longer than the context of 2048.*lower its `max_pixels`"):
        ask(demo, [long], shown[:1], [1], 1.0, 200)


def test_g05_every_end_token_ends_a_question(demo, shown, monkeypatch):
    plain = [said for said in drawn(demo, shown, 9).values() if len(said.ids) > 2]
    extra = plain[0].ids[1]  # an ordinary word, now declared to end a turn like a second EOS
    config = GenerationConfig(**demo.model.generation_config.to_dict() | {"eos_token_id": [0, extra]})
    monkeypatch.setattr(demo.model, "generation_config", config)
    assert end_ids(demo) == sorted({0, extra})
    again = [said for said in drawn(demo, shown, 9).values() if said.ids[:2] == plain[0].ids[:2]]
    assert again
    assert all(said.finished and said.tokens == 2 for said in again)


def test_g05_the_template_end_of_turn_counts_even_if_nobody_declared_it(tmp_path):
    adapter = tiny_families.opened("idefics3", tmp_path)
    ended = adapter.processor.tokenizer.convert_tokens_to_ids("<end_of_utterance>")
    assert turn_end(adapter) == ended
    assert {ended, adapter.processor.tokenizer.eos_token_id} <= set(end_ids(adapter))


def test_a_question_cut_off_at_the_limit_says_so(demo, shown):
    made = ask(demo, PROMPTS[:1] * 12, shown[:1] * 12, [seed_of("cut", i) for i in range(12)], 3.0, 2)
    assert {said.finished for said in made} == {True, False}
    assert all(said.finished == (said.ids[-1] == 0) for said in made)
