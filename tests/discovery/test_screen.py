"""The plain rules that go before every verifier."""

import csv
import json
from pathlib import Path

import pytest
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import HELD_OUT_FIRST, sample_scene
from vlmdx.discovery.screen import NOVEL, screen

from tests.discovery.fakes import question

ROOT = Path(__file__).parents[2]
INSTRUCTION = (ROOT / "resources/prompts/questioner.txt").read_text()

REFUSED = [
    ("", "grammatical"),
    ("   ", "grammatical"),
    ("?!", "grammatical"),
    ("Circle?", "grammatical"),
    ("<image> What color is the circle?", "grammatical"),
    ("What color is the <|image_pad|> circle?", "grammatical"),
    ("What color is the circle?</s>", "grammatical"),
    ("<IMG_CONTEXT><IMG_CONTEXT> is it red?", "grammatical"),
    ("<start_of_image> Is it red?", "grammatical"),
    ("[IMG] Is it red?", "grammatical"),
    (INSTRUCTION, "grounded"),
    ("Write one short question about this image.", "grounded"),
    ("Write the question and nothing more", "grounded"),
    ("Sure: write one short question about this image!", "grounded"),
    ("What color is the circle? What color is the square?", "atomic"),
    ("What color is the circle and what shape is red?", "atomic"),
    ("这把雨伞是什么形状\uff1f 有几个人\uff1f", "atomic"),
    ("How many dogs are there, and where are they?", "atomic"),
    ("Is the circle red, green, blue, yellow, purple, orange, white or black?", "atomic"),
    ("Is the circle red or green or blue or white?", "atomic"),
    ("What color is the circle: red, green, blue, yellow?", "atomic"),
    ("Is the answer yes/no/maybe here?", "atomic"),
    ("Is it to the left, to the right, or above?", "atomic"),
]

PASSED = [
    "What color is the circle?",
    "Is the circle red or blue?",
    "In the photo, is the cat black or white?",
    "Is the small red circle to the left of the large, blue square?",
    "What color is the small, round, shiny thing?",
    "How many people and dogs are there?",
    "Is there a bus that is longer than 3 < 4 cars?",
    "Are the man's shoes and the hat the same color?",
    "What does the sign say?",
    "Tell me the color of the circle.",
    "这把雨伞的大致形状是什么\uff1f",
    "Welche Farbe hat der Kreis?",
]


@pytest.mark.parametrize(("text", "criterion"), REFUSED)
def test_known_exploits_are_refused(text, criterion):
    verdict = screen(question(text), INSTRUCTION)
    assert verdict is not None and verdict.valid is False
    assert verdict.criterion == criterion
    assert verdict.detail


@pytest.mark.parametrize("text", PASSED)
def test_honest_questions_are_left_to_the_verifier(text):
    assert screen(question(text), INSTRUCTION) is None


def test_a_repeat_of_an_earlier_question_is_refused_and_names_it():
    earlier = ("How many crosses are there?", "What color is the circle?")
    verdict = screen(question("What is the colour of the circle", earlier=earlier))
    assert verdict is not None and verdict.criterion == NOVEL
    assert earlier[1] in verdict.detail


def test_the_same_question_about_another_image_is_no_repeat():
    assert screen(question("What color is the circle?", earlier=())) is None


def real_questions(folder: Path) -> set[str]:
    """Questions that people wrote: MMVP, MMBench (English and Chinese), BLINK."""
    found = {json.loads(line)["question"] for line in (folder / "blink-spatial/questions.jsonl").open()}
    for path, column, delimiter in [
        (folder / "mmvp/Questions.csv", "Question", ","),
        *((path, "question", "\t") for path in sorted((folder / "mmbench").glob("*.tsv"))),
    ]:
        with path.open(encoding="utf-8") as lines:
            found |= {row[column] for row in csv.DictReader(lines, delimiter=delimiter)}
    return found


def test_no_question_that_people_wrote_is_refused():
    folder = ROOT.parent / "shared/data"
    if not folder.exists():
        pytest.skip("real data are not here (../shared/data)")
    csv.field_size_limit(10**9)
    asked = real_questions(folder)
    assert len(asked) > 300
    assert {text: verdict.detail for text in asked if (verdict := screen(question(text), INSTRUCTION))} == {}


def test_no_question_of_the_demo_world_is_refused_or_repeats_another_of_its_scene():
    for number in range(50):
        earlier: tuple[str, ...] = ()
        for _, one in ask(0, sample_scene(0, HELD_OUT_FIRST + number), 8):
            assert screen(question(one.text, earlier=earlier), INSTRUCTION) is None, (one.text, earlier)
            earlier += (one.text,)
