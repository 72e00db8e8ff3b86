import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vlmdx.discovery.memory import Memory
from vlmdx.discovery.reward import RewardSettings

from tests.discovery.fakes import embed


def row(text, image_id="1", step=0, turn=0, sample=0, valid=True, correct=False):
    return {
        "image_id": image_id,
        "question": text,
        "step": step,
        "turn": turn,
        "sample": sample,
        "valid": valid,
        "correct": correct,
    }


def memory(buffer=256, **settings):
    return Memory(RewardSettings(buffer=buffer, **settings), embed)


def test_with_nothing_to_compare_all_is_new():
    assert memory().diversity("1", "What color is the circle?") == (1.0, 1.0, 1.0)


def test_a_failed_question_asked_again_is_worth_only_its_lexical_share():
    seen = memory()
    seen.add("1", "What color is the circle?", failed=True)
    seen.add("1", "How many crosses are there?", failed=True)
    assert seen.diversity("1", "What color is the circle?") == (0.0, 0.5, 0.25)


def test_terms_are_the_formula():
    seen = memory(semantic_weight=0.25)
    others = ["What color is it?", "What color is that?", "Is there a cross?"]
    for text in others:
        seen.add("1", text, failed=True)
    semantic, lexical, delta = seen.diversity("1", "what COLOR was this?")
    (vector,) = embed(["what COLOR was this?"]).astype(float)
    closest = max(0.0, float((embed(others).astype(float) @ vector).max()))
    assert semantic == pytest.approx(1 - closest, abs=1e-4)
    assert lexical == pytest.approx(1 / 3)
    assert delta == pytest.approx(0.25 * semantic + 0.75 * lexical)


def test_answered_questions_are_not_compared_with():
    seen = memory()
    seen.add("1", "What color is the circle?", failed=False)
    assert seen.diversity("1", "What color is the circle?").delta == 1.0


def test_buffer_holds_the_latest_of_all_images_and_an_image_keeps_its_own():
    seen = memory(buffer=2)
    for number in range(4):
        seen.add(str(number), f"Is thing {number} red?", failed=True)
    assert seen.diversity("9", "Is thing 0 red?").semantic > 0
    assert seen.diversity("9", "Is thing 3 red?").semantic == 0
    assert seen.diversity("0", "Is thing 0 red?").semantic == 0


def test_a_question_of_this_image_in_the_buffer_counts_once():
    seen = memory(buffer=8)
    seen.add("1", "Is it red?", failed=True)
    seen.add("2", "What is it?", failed=True)
    assert seen.diversity("1", "Is it red?").lexical == 0.5


def test_opposite_directions_do_not_push_delta_over_one():
    opposite = Memory(RewardSettings(), lambda texts: np.array([[1.0, 0], [-1.0, 0]][: len(texts)], dtype=np.float32))
    opposite.add("1", "Is it red?", failed=True)
    assert opposite.diversity("1", "What shape is it?") == (1.0, 1.0, 1.0)


def test_diversity_does_not_depend_on_how_many_others_there_are():
    text, other = "What color is the circle?", "What is left of the cross?"
    one, many = memory(), memory()
    one.add("1", other, failed=True)
    for number in range(97):
        many.add("1", f"What {number}?", failed=True)
    many.add("1", other, failed=True)
    vectors = {t: embed([t])[0].astype(float) for t in [text, other, *(f"What {n}?" for n in range(97))]}
    closest = max((t for t in vectors if t != text), key=lambda t: vectors[t] @ vectors[text])
    alone = memory()
    alone.add("1", closest, failed=True)
    assert many.diversity("1", text).semantic == alone.diversity("1", text).semantic


def test_the_chain_shows_sample_0_and_starts_anew_with_turn_0():
    seen = memory()
    seen.add_rows([row("B?", turn=0, sample=1), row("A?", turn=0, sample=0)])
    seen.add_rows([row("C?", turn=1, valid=False, correct=None)])
    assert seen.earlier("1") == ("A?", "C?")
    assert seen.earlier("2") == ()
    seen.add_rows([row("D?", step=1, turn=0)])
    assert seen.earlier("1") == ("D?",)


@pytest.mark.parametrize("later", [{"step": 2, "turn": 1}, {"step": 2, "turn": 0}, {"step": 1, "turn": 4}])
def test_a_unit_that_comes_late_is_refused(later):
    seen = memory()
    seen.add_rows([row("A?", step=2, turn=1)])
    with pytest.raises(ValueError, match="steps in order"):
        seen.add_rows([row("B?", **later)])


texts = st.sampled_from(["Is it red?", "Is it blue?", "What is it?", "How many are there?"])
verdicts = st.sampled_from([True, False, None])
keys = st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from("ab"), st.integers(0, 2))


@given(st.dictionaries(keys, st.tuples(texts, verdicts, verdicts), min_size=1), st.randoms())
def test_replay_does_not_depend_on_the_order_of_rows(cells, random):
    rows = [
        row(text, image, step, turn, sample, valid, correct)
        for (step, turn, image, sample), (text, valid, correct) in cells.items()
    ]
    shuffled = rows.copy()
    random.shuffle(shuffled)
    settings = RewardSettings(buffer=3)
    first, second = Memory.replay(rows, settings, embed), Memory.replay(shuffled, settings, embed)
    for image in "abc":
        assert first.earlier(image) == second.earlier(image)
        for text in ("Is it red?", "What is it?", "Why?"):
            assert first.diversity(image, text) == second.diversity(image, text)
