"""Discovered questions asked of other models: every question once, undecided ones in no share."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Answer, Judgement
from vlmdx.discovery.transfer import transfer, transfer_table
from vlmdx.images import png_bytes
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import TRANSFER


class Says:
    def __init__(self, word):
        self.word = word

    def answer(self, questions):
        return [Answer(self.word, -1.0) for _ in questions]


class Knows:
    """Right answer "yes" about image i, unknown about image k."""

    def validity(self, questions):
        raise AssertionError("discovered questions are valid already")

    def judge(self, questions, answers):
        right = {"i": "yes", "j": "no", "k": None}
        found = []
        for question, answer in zip(questions, answers, strict=True):
            reference = right[question.image_id]
            verdict = "undecided" if reference is None else "correct" if answer.text == reference else "incorrect"
            found.append(Judgement(verdict, reference))
        return found


PICTURES = [Picture(i, "0" * 64, png_bytes(np.asarray(Image.new("RGB", (4, 4))))) for i in "ijk"]
FAILURES = [{"image_id": i, "question": q} for i, q in (("i", "A?"), ("i", "B?"), ("j", "C?"), ("k", "D?"))]


def ask(word, model):
    return transfer(FAILURES, PICTURES, Says(word), Knows(), run="r", model=model)


def test_every_question_is_asked_once_and_undecided_is_null(tmp_path):
    rows = ask("yes", "m")
    assert [row["correct"] for row in rows] == [True, True, False, None]
    write_table(tmp_path / "t.parquet", rows, TRANSFER)
    assert read_table(tmp_path / "t.parquet", TRANSFER).num_rows == len(FAILURES)


def test_no_question_is_an_error():
    with pytest.raises(ValueError, match="discovered no question"):
        transfer([], PICTURES, Says("yes"), Knows(), run="r", model="m")


def test_shares_are_of_decided_answers_with_intervals_by_image():
    rows = pd.DataFrame([*ask("yes", "one"), *ask("no", "two")])
    table = transfer_table(rows, replicates=200, confidence=0.95, seed=0).set_index("model")
    assert table["questions"].tolist() == [4, 4] and table["undecided"].tolist() == [1, 1]
    assert table.loc["one", "failed"] == pytest.approx(1 / 3)
    assert table.loc["two", "failed"] == pytest.approx(2 / 3)
    assert (table["failed_low"] <= table["failed"]).all() and (table["failed"] <= table["failed_high"]).all()


def test_a_model_that_nobody_could_judge_has_no_share():
    rows = pd.DataFrame(ask("yes", "m"))
    rows["correct"] = None
    table = transfer_table(rows, replicates=200, confidence=0.95, seed=0)
    assert table["undecided"].tolist() == [4] and table["failed"].isna().all()
