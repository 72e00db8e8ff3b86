"""Gold spellings."""

import pytest
from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import RowError, check_options, check_text

ANIMALS = ("cat", "dog", "owl", "a red fox")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("C", "letter"), ("c", "letter"), ("(C)", "letter"), ("C.", "letter"), ("[C]", "letter"), (" C) ", "letter"),
        ("\uff23", "letter"), ("2", "index"), (2, "index"), (3, "index1"), ("3", "index1"), ("owl ", "text"),
        ("OWL", "text"), ("C", "auto"), ("(c)", "auto"), (2, "auto"), ("2", "auto"), ("owl ", "auto"),
    ],
)  # fmt: skip
def test_m04_every_spelling_hits_the_third_option(value, form):
    assert gold_index(value, ANIMALS, form) == 2


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("7", "index"), (7, "index"), (-1, "index"), (0, "index1"), (5, "index1"), ("E", "letter"), ("", "letter"),
        ("Cat", "letter"), ("", "text"), ("bird", "text"), ("", "auto"),
        ("7", "auto"), ("E", "auto"), ("the cat", "text"), (2.0, "index"), (True, "index"),
        (None, "auto"), (["C"], "letter"),
        ("9" * 400, "index"),
    ],
)  # fmt: skip
def test_m04_gold_that_is_no_option_is_an_error(value, form):
    with pytest.raises(RowError, match="gold answer"):
        gold_index(value, ANIMALS, form)


def test_m04_auto_never_guesses_between_readings():
    numbers = ("1", "2", "3")
    with pytest.raises(RowError, match=r"ambiguous.*declare answer_form"):
        gold_index("1", numbers, "auto")
    assert gold_index("1", numbers, "text") == 0
    assert gold_index("1", numbers, "index") == 1
    with pytest.raises(RowError, match="ambiguous"):
        gold_index(2, numbers, "auto")


def test_m05_options_that_are_letters():
    letters = ("B", "A", "D", "C")
    assert gold_index(1, letters, "auto") == 1
    assert gold_index("A", letters, "text") == 1
    assert gold_index("A", letters, "letter") == 0
    with pytest.raises(RowError, match="ambiguous"):
        gold_index("A", letters, "auto")


def test_d04_accents_and_full_width_are_one_text():
    assert gold_index("cafe\u0301", ("tea", "caf\u00e9"), "text") == 1
    assert gold_index("\uff21", ("b", "a"), "text") == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("a",), "1 options"), ((), "0 options"), (tuple(map(str, range(27))), "27 options"),
        (("a", " A "), "the same"), (("cafe\u0301", "café"), "the same"),
        (("a", " "), "option 1 is empty"), (("a", 3), "no text"),
    ],
)  # fmt: skip
def test_m03_options_that_cannot_be_shown(options, reason):
    with pytest.raises(RowError, match=reason):
        for option in options:
            check_text(option)
        check_options(options)


def test_m03_two_to_twenty_six_options():
    for count in (2, 5, 11, 26):
        check_options(tuple(f"option {i}" for i in range(count)))
