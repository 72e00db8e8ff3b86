import pytest
from hypothesis import given
from hypothesis import strategies as st
from vlmdx.discovery.answers import canonical, same_answer

SAME = [
    ("Yes.", "yes"),
    ("YES!", "yes"),
    ("Yes, it is.", "yes"),
    ("No, there is none", "no"),
    ("two", "2"),
    ("Twenty-one.", "21"),
    ("one hundred", "100"),
    ("two dogs", "2 dogs"),
    ("the cat", "cat"),
    ("A cat.", "cat"),
    ("grey", "gray"),
    ("cafe\u0301", "café"),
    ("\uff52\uff45\uff44", "red"),
    ("None", "0"),
    ("to the left", "to left"),
]
DIFFERENT = [
    ("yes", "no"),
    ("", ""),
    (".", "?"),
    ("red", "dark red"),
    ("not red", "red"),
    ("yesterday", "yes"),
    ("no parking", "no"),
    ("twenty", "two"),
    ("12", "2"),
    ("1.5", "15"),
    ("-1", ""),
    ("cats", "cat"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_d04_the_same_answer_in_other_spelling(first, second):
    assert same_answer(first, second) and same_answer(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_another_answer(first, second):
    assert not same_answer(first, second)


def test_a_letter_remains_an_answer():
    assert canonical("A") == "a" and not same_answer("A", "B")


@given(st.text(max_size=40))
def test_canonical_form_is_its_own(text):
    assert canonical(canonical(text)) == canonical(text)
