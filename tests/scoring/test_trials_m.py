"""The trials of section M, with their own values, on given logits."""

import math

import pytest
import torch
from vlmdx.scoring.question import ask

from tests.scoring.stub import VOCABULARY, Stub, item, letters
from tests.scoring.test_readout import LETTER, column, score

SIZES = (1, 2, 5, 11, 27, 30)


def gini(rows):
    return 1 - sum(p * p for p in column(rows, "prob"))


def test_m03_gini_of_uniform_probabilities_at_every_number_of_options():
    items = [item(f"i{n}", [f"o{k}" for k in range(n)]) for n in SIZES]
    found = score(lambda *_: torch.zeros(VOCABULARY), items, "text", batch_tokens=10_000)
    assert [gini(found[f"i{n}"]) for n in SIZES] == pytest.approx([0, 0.5, 0.8, 10 / 11, 26 / 27, 0.9667], abs=5e-5)
    assert [len(found[f"i{n}"]) for n in SIZES] == list(SIZES)


@pytest.mark.parametrize("n", SIZES[:4])
def test_m03_prompt_and_ids_follow_the_options_of_the_row(n):
    question = ask(Stub(lambda *_: None), item("i", [f"o{k}" for k in range(n)]), "letter", LETTER)
    shown = question.prompt.split("\n")[1:]
    assert shown == [f"{chr(65 + k)}. o{k}" for k in range(n)]
    assert question.letters == tuple(line[0] for line in shown) and question.targets == tuple((k,) for k in range(n))


def test_m05_options_that_are_letters_are_compared_by_place():
    """Options B, A, D, C with gold index 1: the right answer is the option "A", which is shown as "B. A"."""
    options = ["B", "A", "D", "C"]
    seen = []

    def logits(prompt, image, given):
        seen.append(prompt)
        return letters(B=3.0)  # the letter that stands before the option "A"

    (rows,) = score(logits, [item("i", options, answer=1)]).values()
    assert seen[0].split("\n")[1:] == ["A. B", "B. A", "C. D", "D. C"]
    assert column(rows, "chosen") == column(rows, "is_gold") == [False, True, False, False]
    (rows,) = score(lambda *_: letters(A=3.0), [item("i", options, answer=1)]).values()
    assert column(rows, "chosen") == [True, False, False, False]  # the option "B", which is wrong
    assert not rows[0]["is_gold"]


def test_m07_logits_that_bfloat16_makes_equal():
    """12.01, 12.03 and 12.10 are 12.0, 12.0 and 12.125 in bfloat16: the two small ones tie, and none of them leads."""
    value = torch.tensor([12.01, 12.03, 12.10])
    assert value.bfloat16().tolist() == [12.0, 12.0, 12.125]
    (low,) = score(lambda *_: letters(A=12.01, B=12.03, C=12.10).bfloat16(), [item("i", list("xyz"))]).values()
    assert column(low, "logit") == [12.0, 12.0, 12.125]
    assert column(low, "chosen") == [False, False, True] and column(low, "tied") == [False] * 3
    (full,) = score(lambda *_: letters(A=12.01, B=12.03, C=12.10), [item("i", list("xyz"))]).values()
    assert len(set(column(full, "prob"))) == 3 and column(full, "chosen") == [False, False, True]


def test_m07_no_false_tie_from_a_softmax_in_half_precision():
    near = torch.tensor([0.001, 0.002]).bfloat16()
    assert near[0] != near[1] and near.softmax(-1)[0] == near.softmax(-1)[1]  # the trouble is real
    (rows,) = score(lambda *_: letters(A=0.001, B=0.002).bfloat16(), [item("i", ["x", "y"])]).values()
    assert column(rows, "tied") == [False, False] and column(rows, "chosen") == [False, True]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)])
def test_m07_two_leading_options_tie_and_the_text_wins_whatever_the_order(order):
    texts = ["cat", "dog", "owl"]
    value = {"cat": 12.01, "dog": 12.03, "owl": 11.0}  # the first two are 12.0 in bfloat16

    def logits(prompt, image, given):
        return letters(**{line[0]: value[line[3:]] for line in prompt.split("\n")[1:]}).bfloat16()

    shown = [texts[k] for k in order]
    (rows,) = score(logits, [item("i", shown)]).values()
    (plain,) = score(logits, [item("i", texts)]).values()
    assert column(rows, "tied") == [True] * 3
    assert shown[column(rows, "chosen").index(True)] == texts[column(plain, "chosen").index(True)] in ("cat", "dog")


def test_m10_a_model_that_wants_to_say_so_first():
    out = torch.full((VOCABULARY,), -30.0)
    out[40], out[0], out[1] = 13.815510, 0.0, -1.0  # "So" gets 0.999999 of what it shares with "A"
    (rows,) = score(lambda *_: out, [item("i", ["x", "y"])]).values()
    share = math.exp(13.815510) / (math.exp(13.815510) + 1)
    assert share == pytest.approx(0.999999, abs=1e-7)
    assert rows[0]["letter_mass"] < 2e-6 and sum(column(rows, "prob")) == pytest.approx(1)
