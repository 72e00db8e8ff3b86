from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from vlmdx.discovery.prompts import SPECIAL, clean_question, fill, plain, questioner_prompt

PROMPTS = Path(__file__).parents[2] / "resources/prompts"
FIELDS = {
    "questioner": ["earlier"],
    "conme": ["earlier", "mistakes"],
    "validity": ["question"],
    "reference": ["question"],
    "judge": ["question", "reference", "answer"],
    "primitives": ["question"],
}


@pytest.mark.parametrize("name", FIELDS)
def test_shipped_prompts_have_their_fields_and_nothing_of_them_is_left_over(name):
    filled = fill(
        (PROMPTS / f"{name}.txt").read_text(), **{field: f"<{field.upper()} is> it" for field in FIELDS[name]}
    )
    for field in FIELDS[name]:
        assert field.upper() in filled and "{" + field + "}" not in filled


def test_earlier_questions_stand_one_per_line_under_their_heading():
    prompt = questioner_prompt("Ask.\n\nAsked before:\n{earlier}\n\nGo.", ["Is it\nred?", "", "What {earlier} is it?"])
    assert prompt == "Ask.\n\nAsked before:\nIs it red?\nWhat {earlier} is it?\n\nGo."


def test_with_nothing_asked_before_the_heading_goes_too():
    assert questioner_prompt("Ask.\n\nAsked before:\n{earlier}\n\nGo.\n", []) == "Ask.\n\nGo."
    shipped = questioner_prompt((PROMPTS / "conme.txt").read_text(), [], ["What color is it?"])
    assert "What color is it?" in shipped and "already" not in shipped


@pytest.mark.parametrize(
    ("template", "fields"),
    [("Ask.", {"earlier": ""}), ("{earlier} {question}", {"earlier": ""}), ("{x}", {"question": "?"})],
)
def test_a_prompt_file_without_its_fields_is_refused(template, fields):
    with pytest.raises(ValueError, match="has the fields"):
        fill(template, **fields)


def test_mistakes_need_a_place():
    with pytest.raises(ValueError, match="mistakes"):
        questioner_prompt("{earlier}", [], ["What color is it?"])


@given(st.text(st.sampled_from("{}questionanswer$\\<>|"), max_size=30))
def test_filled_texts_are_not_filled_again(text):
    assert fill("Q: {question} A: {answer}", question=text, answer="{question}") == f"Q: {plain(text)} A: {{question}}"


@pytest.mark.parametrize(
    "token", ["<image>", "<|image_pad|>", "<|im_end|>", "</s>", "[IMG]", "[INST]", "<start_of_image>"]
)
def test_g04_no_special_token_reaches_a_prompt(token):
    prompt = questioner_prompt("Asked:\n{earlier}", [f"Is {token} red?"])
    assert token not in prompt and not SPECIAL.search(prompt)


@given(st.text(st.sampled_from("<>|[]/IMGs a_"), max_size=40))
@example("<<image>>")
@example("[I<a>MG]")
def test_plain_text_has_no_special_token_however_nested(text):
    assert not SPECIAL.search(plain(text))


@pytest.mark.parametrize(
    ("raw", "question"),
    [
        ("  What color\n is it?  ", "What color is it?"),
        ('"What color is it?"', "What color is it?"),
        ("“What color is it?”", "What color is it?"),
        ("Question: What color is it?", "What color is it?"),
        ("Question 3: What color is it?", "What color is it?"),
        ("2. What color is it?", "What color is it?"),
        ("- What color is it?", "What color is it?"),
        ("What color is it?<|im_end|>", "What color is it?"),
        ("What color is it? What shape is it?", "What color is it? What shape is it?"),
        ('Is "A" or "B" written on it?', 'Is "A" or "B" written on it?'),
        ('"A" or "B"', '"A" or "B"'),
        ("<image> Is it red?", "<image> Is it red?"),
        ("2 dogs or 3 dogs?", "2 dogs or 3 dogs?"),
        ("", ""),
    ],
)
def test_a_question_is_one_clean_line(raw, question):
    assert clean_question(raw, ["<|im_end|>"]) == question
