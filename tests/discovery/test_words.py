import pytest
from vlmdx.discovery.words import near_duplicate, prefix, words

SAME = [
    ("What color is the circle?", "what color is the circle"),
    ("What color is the circle?", "What colour is the circle?"),
    ("What color is the circle?", "Which color is the circle?"),
    ("What color is the circle?", "What is the color of the circle?"),
    ("What color is the circle?", "What is the circle's color?"),
    ("Is there a red circle?", "Is there a circle that is red?"),
    ("Is there a red circle?", "Are there any red circles?"),
    ("\uff29\uff53 there a cross?", "Is there a cross?"),
]
DIFFERENT = [
    ("What color is the circle above the square?", "What color is the circle below the square?"),
    ("Is the blue square left of the red circle?", "Is the red circle left of the blue square?"),
    ("Does the dog chase the cat?", "Does the cat chase the dog?"),
    ("Is there a red circle?", "Is the circle red?"),
    ("How many circles are there?", "Are there circles?"),
    ("What color is the small circle?", "What color is the large circle?"),
    ("What color is the circle?", "What color is the square?"),
    ("Where is the cup?", "What is the cup?"),
    ("Is the cup on the table?", "Is the cup in the table?"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_question_in_other_dress(first, second):
    assert near_duplicate(first, second) and near_duplicate(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_another_question_in_like_words(first, second):
    assert not near_duplicate(first, second) and not near_duplicate(second, first)


def test_prefix_is_two_words_without_case_or_punctuation():
    assert prefix("“What, colour” is it?") == "what colour"
    assert prefix("Why?") == "why"
    assert prefix("") == ""


def test_words_keep_numbers_hyphens_and_accents():
    assert words("Is the café-table № 2's leg RED?") == ["is", "the", "café-table", "no", "2", "leg", "red"]
