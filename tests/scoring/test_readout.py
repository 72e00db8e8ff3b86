"""Read-outs on given logits: numbers, ties, non-finite values, many options."""

import io
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from vlmdx.schema.io import check
from vlmdx.schema.tables import SCORES
from vlmdx.scoring.cell import score_cell
from vlmdx.scoring.question import ask
from vlmdx.scoring.readout import choose, text_columns

from tests.scoring.stub import VOCABULARY, Stub, item, letters

LETTER, TEXT = "{question}\n{options}", "{question}"


def png(width=8, height=8):
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


def score(logits, items, readout="letter", batch_tokens=64):
    """Rows of ``items`` by item id; each item has its own image."""
    stub = Stub(logits)
    questions = [ask(stub, one, readout, LETTER if readout == "letter" else TEXT) for one in items]
    images = {one["image_id"]: png() for one in items}
    rows = score_cell(stub, questions, [images], "fog", 3, readout, batch_tokens)
    check(pa.Table.from_pylist(rows, SCORES.schema), SCORES, "test")
    found = {}
    for row in rows:
        found.setdefault(row["item_id"], []).append(row)
    return found


def column(rows, name):
    return [row[name] for row in rows]


def test_letter_numbers():
    rows = score(lambda *_: letters(A=1.0, B=3.0, C=2.0), [item("i", ["x", "y", "z"], answer=1)])["i"]
    total = math.log(sum(math.exp(v) for v in (1, 3, 2)) + VOCABULARY - 3)
    within = math.log(sum(math.exp(v) for v in (1, 3, 2)))
    assert column(rows, "logit") == [1, 3, 2]
    assert column(rows, "letter") == ["A", "B", "C"]
    np.testing.assert_allclose(column(rows, "logprob_full"), [1 - total, 3 - total, 2 - total], rtol=1e-6)
    np.testing.assert_allclose(column(rows, "logprob"), [1 - within, 3 - within, 2 - within], rtol=1e-6)
    np.testing.assert_allclose(sum(column(rows, "prob")), 1, rtol=1e-6)
    np.testing.assert_allclose(column(rows, "letter_mass"), [math.exp(within - total)] * 3, rtol=1e-6)
    assert column(rows, "chosen") == column(rows, "is_gold") == [False, True, False]
    assert column(rows, "tied") == [False] * 3
    assert column(rows, "image_tokens") == [2] * 3
    assert column(rows, "text_sum") == column(rows, "reason") == [None] * 3


def test_m02_sum_prefers_the_short_option_and_the_mean_ties():
    short, long = np.full(1, -1.0), np.full(10, -1.0)  # "dog", "a brown dog that is lying on the green sofa"
    columns = text_columns([short, long])
    assert columns["text_sum"] == [-1.0, -10.0]
    assert columns["text_mean"] == [-1.0, -1.0]
    assert columns["prob"] == [0.5, 0.5]
    assert choose("i", ("dog", "a brown dog"), np.array(columns["prob"], np.float32))[1]


def test_m02_equal_tokens_tie_per_token():
    rows = score(lambda *_: torch.zeros(VOCABULARY), [item("i", ["dog", "a brown dog on the green sofa"])], "text")["i"]
    assert column(rows, "tied") == [True, True]
    assert column(rows, "prob") == [0.5, 0.5]
    np.testing.assert_allclose(rows[1]["text_sum"], 7 * rows[0]["text_sum"], rtol=1e-6)
    assert column(rows, "logit") == column(rows, "logprob_full") == column(rows, "letter_mass") == [None, None]


def test_text_numbers_with_shared_beginnings():
    def logits(prompt, image, given):
        out = torch.arange(VOCABULARY, dtype=torch.float64) / 10
        return out + len(given)  # the shift cancels, the position must not

    stub = Stub(logits)
    options = ["red", "red car", "red bus", "blue"]
    rows = score(logits, [item("i", options)], "text")["i"]
    total = torch.logsumexp(torch.arange(VOCABULARY) / 10, 0).item()
    for option, row in zip(options, rows, strict=True):
        for one in options:  # same order of first sight as in the scoring
            stub.answer_ids("", one)
        expected = [token / 10 - total for token in stub.answer_ids("", option)]
        assert row["text_sum"] == pytest.approx(sum(expected), rel=1e-5)
        assert row["text_mean"] == pytest.approx(sum(expected) / len(expected), rel=1e-5)
    assert sum(column(rows, "prob")) == pytest.approx(1)


def test_m03_rows_of_1_2_5_11_27_and_30_options_in_one_batch():
    sizes = [1, 2, 5, 11, 27, 30]
    items = [item(f"i{n}", [f"o{k}" for k in range(n)]) for n in sizes]
    found = score(lambda *_: torch.zeros(VOCABULARY), items, batch_tokens=10_000)
    for n in sizes:
        rows = found[f"i{n}"]
        assert len(rows) == n
        if n <= 26:
            assert 1 - sum(p * p for p in column(rows, "prob")) == pytest.approx(1 - 1 / n)
            assert column(rows, "reason") == [None] * n
        else:
            assert set(column(rows, "reason")) == {"more than 26 options: no letter for each"}
            assert set(column(rows, "prob")) == {None}


def test_m03_text_readout_takes_any_number_of_options():
    rows = score(lambda *_: torch.zeros(VOCABULARY), [item("i", [f"o{k}" for k in range(30)])], "text")["i"]
    assert column(rows, "prob") == pytest.approx([1 / 30] * 30)
    assert column(rows, "letter") == [""] * 30


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_m07_ties_follow_the_option_text_not_its_place(order):
    texts = ["cat", "dog", "fox"]
    shuffled = [texts[i] for i in order]
    value = {"cat": 12.01, "dog": 12.125, "fox": 12.10}  # in bfloat16: 12.0, 12.125, 12.125

    def logits(prompt, image, given):
        lines = prompt.split("\n")[1:]
        return letters(**{line[0]: value[line[3:]] for line in lines}).bfloat16()

    rows = score(logits, [item("i", shuffled)])["i"]
    assert column(rows, "tied") == [True] * 3
    assert [shuffled[k] for k, row in enumerate(rows) if row["chosen"]] == [
        texts[choose("i", tuple(texts), np.array([0.2, 0.4, 0.4], np.float32))[0]]
    ]


def test_m07_tie_breaking_favours_no_position():
    first = sum(choose(f"i{n}", ("cat", "dog"), np.array([0.5, 0.5], np.float32))[0] == 0 for n in range(400))
    assert 150 < first < 250


def test_permuted_options_keep_their_probabilities():
    value = {"cat": 0.3, "dog": 2.0, "fox": -1.0}

    def logits(prompt, image, given):
        return letters(**{line[0]: value[line[3:]] for line in prompt.split("\n")[1:]})

    found = {}
    for order in (["cat", "dog", "fox"], ["fox", "cat", "dog"]):
        rows = score(logits, [item("i", order)])["i"]
        found[tuple(order)] = dict(zip(order, column(rows, "prob"), strict=True))
    first, second = found.values()
    assert first == pytest.approx(second)


def test_m08_non_finite_logits_are_nobodys_answer():
    bad = {
        "q3": torch.full((VOCABULARY,), math.nan),
        "q4": letters(A=math.inf),
        "q5": torch.full((VOCABULARY,), -math.inf),
        "q6": letters(B=-math.inf),
    }
    good = letters(B=1.0)
    items = [item(f"q{n}", ["x", "y"], question=f"q{n}") for n in range(8)]
    found = score(lambda prompt, *_: bad.get(prompt.split("\n")[0], good), items, batch_tokens=10_000)
    for name, rows in found.items():
        if name in bad:
            assert column(rows, "reason") == ["non-finite logits"] * 2
            for number in ("prob", "logprob", "logit", "letter_mass", "chosen", "tied"):
                assert column(rows, number) == [None, None]
        else:
            assert column(rows, "chosen") == [False, True]


def test_m10_tiny_letter_mass_is_stored():
    out = torch.zeros(VOCABULARY)
    out[40] = 20.0  # "So"
    rows = score(lambda *_: out, [item("i", ["x", "y"])])["i"]
    assert rows[0]["letter_mass"] < 1e-7
    assert column(rows, "prob") == [0.5, 0.5]


def test_m04_item_without_gold_has_probabilities_and_null_gold():
    rows = score(lambda *_: letters(B=1.0), [item("i", ["x", "y"], answer=None)])["i"]
    assert column(rows, "is_gold") == [None, None]
    assert column(rows, "chosen") == [False, True]


def test_refused_prompts_and_absent_images_are_accounted_for():
    items = [item("ok", ["x", "y"]), item("no", ["x", "y"], question="REFUSE")]
    stub = Stub(lambda *_: letters(A=1.0))
    questions = [ask(stub, one, "letter", LETTER) for one in items]
    rows = score_cell(stub, questions, [{"no.png": png()}], "clean", 0, "letter", 64)
    assert [(row["item_id"], row["reason"]) for row in rows[::2]] == [
        ("ok", "image is not in the corrupted shard"),
        ("no", "this prompt is refused"),
    ]


def test_item_without_options_is_an_error():
    with pytest.raises(ValueError, match="item 'i' has no options"):
        ask(Stub(lambda *_: None), item("i", []), "letter", LETTER)


def test_batches_keep_the_token_budget_and_show_each_image_once():
    stub = Stub(lambda *_: letters(A=1.0))
    items = [item(f"{i}-{k}", ["x", "y"], image_id=f"{i}", question=f"{i}{k}") for i in range(5) for k in range(3)]
    questions = [ask(stub, one, "letter", LETTER) for one in items]
    rows = score_cell(stub, questions, [{str(i): png(8 + i) for i in range(5)}], "fog", 1, "letter", 3 * 6)
    assert [row["item_id"] for row in rows[::2]] == [one["item_id"] for one in items]
    assert all(len(call) <= 6 for call in stub.calls)
    assert [width for call in stub.calls for _, width in call] == [w for w in range(8, 13) for _ in range(3)]
    assert all(int(prompt[0]) == width - 8 for call in stub.calls for prompt, width in call)


def test_images_in_several_chunks_give_the_same_rows():
    def logits(prompt, image, given):
        return letters(A=image.width, B=float(prompt[1]))

    items = [item(f"{i}-{k}", ["x", "y"], image_id=f"{i}", question=f"{i}{k}") for i in range(5) for k in range(3)]
    stub = Stub(logits)
    questions = [ask(stub, one, "letter", LETTER) for one in items]
    images = {str(i): png(8 + i) for i in range(5)}
    whole = score_cell(stub, questions, [images], "fog", 1, "letter", 64)
    pieces = score_cell(stub, questions, [{k: v} for k, v in reversed(images.items())], "fog", 1, "letter", 3)
    assert whole == pieces


def test_broken_image_names_its_id():
    stub = Stub(lambda *_: letters(A=1.0))
    questions = [ask(stub, item("i", ["x"]), "letter", LETTER)]
    with pytest.raises(ValueError, match=r"image 'i\.png' .* cannot be opened"):
        score_cell(stub, questions, [{"i.png": b"no image"}], "fog", 1, "letter", 64)
