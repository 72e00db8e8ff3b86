"""Filling of prompt files."""

import pytest
from vlmdx.models.prompts import fill, letters, user_turn

TEMPLATE = "{question}\n{options}\nAnswer with the option's letter.\n"


def test_m03_letters_follow_the_options_of_the_row():
    assert fill(TEMPLATE, "Q?", ["x", "y"]) == "Q?\nA. x\nB. y\nAnswer with the option's letter."
    for n in (1, 2, 5, 11, 26):
        shown = fill(TEMPLATE, "Q?", [f"o{i}" for i in range(n)])
        assert [line[0] for line in shown.split("\n")[1 : n + 1]] == letters(n)
    for n in (27, 30):
        with pytest.raises(ValueError, match=f"{n} options"):
            fill(TEMPLATE, "Q?", ["o"] * n)


@pytest.mark.parametrize("text", ["{options}", "{question}", "{0} {{x}} $HOME", "a\\1\\g<0>", 'b\'c "d" é'])
def test_question_and_options_are_never_filled_again(text):
    assert fill("{question}|{options}", text, [text]) == f"{text}|A. {text}"


def test_m05_options_that_are_letters_keep_their_own_label():
    assert fill("{options}", "", ["B", "A"]) == "A. B\nB. A"


def test_prompt_without_options():
    assert fill("{question}\nAnswer in one word.", "Q?") == "Q?\nAnswer in one word."


def test_user_turn_shows_the_image_first():
    (turn,) = user_turn("hi")
    assert [part["type"] for part in turn["content"]] == ["image", "text"]
