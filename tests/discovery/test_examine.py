"""Who is asked what, and that every known exploit is worth nothing (science: B, Reward)."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from vlmdx.demo.scene import HELD_OUT_FIRST, sample_scene, scene_graph
from vlmdx.discovery.examine import examine
from vlmdx.discovery.memory import Memory
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Question, Validity
from vlmdx.discovery.rollouts import grade

from tests.discovery.fakes import FakeAnswerer, FakeVerifier, asked, embed, question

INSTRUCTION = (Path(__file__).parents[2] / "resources/prompts/questioner.txt").read_text()

EXPLOITS = {
    "empty": "",
    "one word": "Circle?",
    "the prompt": INSTRUCTION,
    "two askings": "What color is the circle and what shape is the red thing?",
    "all answers": "Is it red, green, blue, yellow, purple, orange, white or black?",
    "image tokens": "What <|image_pad|> color is the circle?",
    "near-duplicate": "What colour is the circle",
}
LEFT_TO_THE_VERIFIER = {
    "unanswerable": "What is behind the photographer?",
    "non-visual": "What is the capital of France?",
    "leaked answer": "What color is the red circle?",
    "two askings in one": "What color and size is the circle?",
}


def graded(text, verifier, answerer=None):
    """The row of one question about an image of which "What color is the circle?" was asked before."""
    memory = Memory(RewardSettings(), embed)
    one = asked(text, earlier=("What color is the circle?",))
    (row,) = grade([one], answerer or FakeAnswerer(), verifier, memory, INSTRUCTION)
    return row


@pytest.mark.parametrize("name", EXPLOITS)
def test_plain_exploits_cost_the_penalty_even_if_the_verifier_were_fooled(name):
    verifier, answerer = FakeVerifier(), FakeAnswerer()
    row = graded(EXPLOITS[name], verifier, answerer)
    assert row["reward"] == -0.5
    assert (verifier.asked, verifier.judged, answerer.asked) == ([], [], [])


@pytest.mark.parametrize("name", LEFT_TO_THE_VERIFIER)
def test_what_the_verifier_refuses_costs_the_penalty_and_no_answer(name):
    verifier, answerer = FakeVerifier(valid=lambda text: False), FakeAnswerer()
    row = graded(LEFT_TO_THE_VERIFIER[name], verifier, answerer)
    assert row["reward"] == -0.5 and row["answer"] is None
    assert verifier.asked == [LEFT_TO_THE_VERIFIER[name]] and answerer.asked == []


@pytest.mark.parametrize("name", [*EXPLOITS, *LEFT_TO_THE_VERIFIER])
def test_no_exploit_pays_before_the_oracle_and_an_answerer_that_is_always_wrong(name):
    scene = next(scene for n in range(100) if (scene := red_circle(n)))
    text = (EXPLOITS | LEFT_TO_THE_VERIFIER)[name]
    one = asked(text, scene.image_id, earlier=("What color is the circle?",))
    honest = asked("Is there a circle?", scene.image_id, sample=1)
    oracle = Oracle({scene.image_id: scene_graph(scene)})
    rows = grade(
        [one, honest], FakeAnswerer(lambda text: "nonsense"), oracle, Memory(RewardSettings(), embed), INSTRUCTION
    )
    assert rows[0]["reward"] <= 0 < rows[1]["reward"]


def red_circle(number):
    """A scene with one circle, a red one."""
    scene = sample_scene(0, HELD_OUT_FIRST + number)
    return scene if [t.color for t in scene.things if t.shape == "circle"] == ["red"] else None


verdict = st.sampled_from([True, False, None])


@given(
    st.dictionaries(st.from_regex(r"Is the [a-z]{1,8} red\?", fullmatch=True), st.tuples(verdict, verdict), max_size=12)
)
def test_only_valid_questions_reach_the_answerer_and_all_come_back_in_order(script):
    verifier = FakeVerifier(lambda t: script[t][0], lambda t: script[t][1])
    answerer = FakeAnswerer()
    found = examine([question(text) for text in script], answerer, verifier)
    assert [e.question.text for e in found] == list(script)
    assert answerer.asked == verifier.judged == [text for text, (valid, _) in script.items() if valid is True]
    for e in found:
        valid, correct = script[e.question.text]
        assert e.valid is valid
        assert e.correct is (correct if valid else None)
        assert e.failed is (valid is True and correct is False)
        assert (e.answer is None) is (e.judgement is None) is (valid is not True)


@pytest.mark.parametrize(("valid", "correct"), [(None, None), (True, None)])
def test_undecided_earns_zero_and_stays_null(valid, correct):
    row = graded("Is there a cross?", FakeVerifier(lambda t: valid, lambda t: correct))
    assert row["reward"] == 0.0 and row["penalty"] == 0.0
    assert row["valid"] is valid and row["correct"] is None
    assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())


def test_nobody_is_asked_about_nothing():
    verifier, answerer = FakeVerifier(), FakeAnswerer()
    assert examine([], answerer, verifier) == []
    assert examine([question("")], answerer, verifier)[0].validity.valid is False
    assert verifier.asked == answerer.asked == []


def test_a_verifier_that_loses_a_question_is_an_error():
    class Short(FakeVerifier):
        def validity(self, questions):
            return [Validity(True)]

    with pytest.raises(ValueError, match=r"verifier\.validity gave 1 replies to 2 questions"):
        examine([question("Is it red?"), question("Is it blue?")], FakeAnswerer(), Short())


def test_a_blank_image_is_examined_like_any_other():
    blank = Question("1", Image.new("RGB", (140, 140), "gray"), "What color is the circle?")
    (one,) = examine([blank], FakeAnswerer(), FakeVerifier())
    assert one.failed and one.question.image is blank.image
