"""Validity beyond the verifier: blind images, a second verifier, and the sheet for a person."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.metrics import cohen_kappa_score
from vlmdx.discovery.agreement import agreement, second_opinions
from vlmdx.discovery.blind import asked_blind, blind_shares
from vlmdx.discovery.metrics import widen
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Answer
from vlmdx.discovery.spot_check import BLANKS, draw_sample
from vlmdx.images.pixels import png_bytes
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import BLIND, IMAGES, PRIMITIVES, ROLLOUTS, SECOND, SKILLS

from tests.discovery.fakes import FakeVerifier
from tests.discovery.made_up import rollouts, row, weak_at_counting
from tests.reliability.scripts import run

DRAWING = {"replicates": 200, "confidence": 0.95, "seed": 0}


def picture(image_id: str, size=(40, 30)) -> Picture:
    pixels = np.full((size[1], size[0], 3), 200, np.uint8)
    return Picture(image_id, "0" * 64, png_bytes(pixels))


class Looks:
    """Answers what it sees, but for questions that hold "always"."""

    def __init__(self):
        self.seen = []

    def answer(self, questions):
        self.seen += [(q.text, q.image.size, set(q.image.get_flattened_data())) for q in questions]
        said = ["The Yes." if "always" in q.text else "grey" for q in questions]
        return [Answer(text, 0.0) for text in said]


def test_a_question_that_is_answered_without_its_image_is_no_visual_failure(tmp_path):
    rows = [
        row(image_id="a", question="always?", correct=False, answer="yes"),
        row(image_id="a", question="always?", correct=False, answer="yes", method="rl"),
        row(image_id="b", question="look?", correct=False, answer="red", method="rl"),
        row(image_id="b", question="always right?", correct=True, answer="yes"),
        row(image_id="c", question="undecided?", correct=None),
        row(image_id="c", question="invalid?", valid=False, method="rl"),
        row(image_id="d", question="training?", phase="train", step=1),
    ]
    answerer = Looks()
    found = asked_blind(pd.DataFrame(rows), answerer, {i: picture(i) for i in "abcd"})
    write_table(tmp_path / "blind.parquet", found, BLIND)
    assert [(r["question"], r["same"]) for r in found] == [("always?", True), ("always right?", True), ("look?", False)]
    assert all(size == (40, 30) and colors == {(128, 128, 128)} for _, size, colors in answerer.seen)
    shares = widen(blind_shares(pd.DataFrame(rows), found, **DRAWING)).set_index("method")
    assert shares.loc["rl", ["same_failed", "fdr", "fdr_visual"]].tolist() == pytest.approx([1 / 2, 2 / 3, 1 / 3])
    assert shares.loc["zero-shot", ["same_failed", "same_right", "fdr", "fdr_visual"]].tolist() == pytest.approx(
        [1, 1, 1 / 3, 0]
    )


def test_kappa_is_scikit_learns_with_an_interval_around_it():
    rng = np.random.default_rng(0)
    rows = []
    for n in range(200):
        first = bool(rng.random() < 0.6)
        second = first if rng.random() < 0.8 else not first
        right = [bool(rng.random() < 0.5) for _ in range(2)] if first and second else [None, None]
        rows.append({"image_id": f"i{n // 4}", "question": f"q{n}", "valid": first, "second_valid": second,
                     "correct": right[0], "second_correct": right[1]})  # fmt: skip
    rows.append(rows[0] | {"question": "undecided", "second_valid": None})
    table = agreement(rows, **DRAWING).set_index("subject")
    decided = rows[:-1]
    expected = cohen_kappa_score([r["valid"] for r in decided], [r["second_valid"] for r in decided])
    line = table.loc["validity"]
    assert line["kappa"] == pytest.approx(expected)
    assert line["low"] < expected < line["high"]
    assert (line["n"], line["undecided"]) == (200, 1)
    assert line[["both", "first_only", "second_only", "neither"]].sum() == 200
    both = [r for r in decided if r["correct"] is not None]
    expected = cohen_kappa_score([r["correct"] for r in both], [r["second_correct"] for r in both])
    assert table.loc["correctness", "kappa"] == pytest.approx(expected)
    assert table.loc["correctness", "n"] == len(both)


def test_kappa_of_two_who_say_yes_to_everything_is_undefined():
    rows = [{"image_id": i, "question": "q", "valid": True, "second_valid": True, "correct": None,
             "second_correct": None} for i in "ab"]  # fmt: skip
    table = agreement(rows, **DRAWING).set_index("subject")
    assert np.isnan(table.loc["validity", "kappa"])
    assert table.loc["validity", "agreement"] == 1
    assert table.loc["correctness", "n"] == 0
    assert table.loc["correctness", "undecided"] == 2


def test_the_second_verifier_gets_what_the_first_got_and_judges_answers_of_what_both_call_valid(tmp_path):
    rows = [
        row(image_id="a", question="Is there a cat?", correct=False),
        row(image_id="a", question="Is there a cat?", correct=False, method="rl"),
        row(image_id="a", question="Is there a bad cat?"),
        row(image_id="b", question="Is there a dog?", valid=False),
        row(image_id="b", question="Is there one?", valid=None),
        row(image_id="b", question="cat", valid=False, criterion="grammatical"),  # the screen's own verdict
        row(image_id="b", question="Is there a cow again?", valid=False, criterion="novel"),
    ]
    second = FakeVerifier(valid=lambda text: "bad" not in text, correct=lambda text: True)
    found = second_opinions(pd.DataFrame(rows), second, {i: picture(i) for i in "ab"}, ["Write a question."])
    write_table(tmp_path / "second.parquet", found, SECOND)
    assert second.asked == ["Is there a bad cat?", "Is there a cat?", "Is there a dog?", "Is there one?"]
    assert second.judged == ["Is there a cat?"]
    told = {r["question"]: (r["valid"], r["second_valid"], r["correct"], r["second_correct"]) for r in found}
    assert told == {
        "Is there a cat?": (True, True, False, True),
        "Is there a bad cat?": (True, False, True, None),
        "Is there a dog?": (False, True, None, None),
        "Is there one?": (None, True, None, None),
    }


def test_the_sheet_is_half_failures_and_hides_the_verdicts():
    rows = pd.DataFrame(rollouts(weak_at_counting))
    sheet, key = draw_sample(rows, 24, 0)
    assert len(sheet) == len(key) == 24
    assert key["outcome"].value_counts().to_dict() == {"failed": 12, "right": 6, "invalid": 6}
    assert list(sheet.columns) == ["number", "image", "image_id", "question", "answer", *BLANKS]
    assert (sheet[list(BLANKS)] == "").all(axis=None)
    assert not sheet.duplicated(["image_id", "question"]).any()
    again, _ = draw_sample(rows.sample(frac=1, random_state=3), 24, 0)
    pd.testing.assert_frame_equal(sheet.reset_index(drop=True), again.reset_index(drop=True))
    other, _ = draw_sample(rows, 24, 1)
    assert set(other["question"] + other["image_id"]) != set(sheet["question"] + sheet["image_id"])


def test_a_sheet_of_more_than_there_is_takes_all():
    rows = pd.DataFrame([row(image_id=f"i{n}", correct=n > 0) for n in range(5)])
    sheet, key = draw_sample(rows, 50, 0)
    assert len(sheet) == 5
    assert key["outcome"].value_counts().to_dict() == {"right": 4, "failed": 1}
    with pytest.raises(ValueError, match="no held-out question"):
        draw_sample(rows.assign(phase="train"), 5, 0)


def test_the_spot_check_folder(tmp_path):
    rows = [row(image_id=f"i{n}", question=f"Is there a thing {n}?", correct=n % 2 > 0) for n in range(8)]
    images = [
        {"image_id": f"i{n}", "image": {"bytes": picture("x").png, "path": None}, "width": 40, "height": 30,
         "sha256": "0" * 64, "mode": "RGB", "orientation": 1} for n in range(8)
    ]  # fmt: skip
    write_table(tmp_path / "rollouts.parquet", rows, ROLLOUTS)
    write_table(tmp_path / "images.parquet", images, IMAGES)
    given = {name: tmp_path / f"{name}.parquet" for name in ("rollouts", "images")}
    made = {"folder": tmp_path / "spot_check", "png": tmp_path / "s.png"}
    run("spot_check", given, made, {"questions": 6, "seed": 0}, run="toy")
    sheet = pd.read_csv(tmp_path / "spot_check" / "sheet.csv")
    assert len(sheet) == 6
    assert all(Image.open(tmp_path / "spot_check" / name).size == (40, 30) for name in sheet["image"])
    assert set(pd.read_csv(tmp_path / "spot_check" / "key.csv")["number"]) == set(sheet["number"])
    assert (tmp_path / "s.png").stat().st_size > 1000
    assert not list(tmp_path.glob(".spot_check*"))
    run("spot_check", given, made, {"questions": 6, "seed": 0}, run="toy")  # replaces its own folder


def test_recomputed_rewards_are_those_of_other_settings(tmp_path):
    rows = [row(image_id="a", valid=False, reward=-0.5, penalty=0.5)]
    rows.append(row(image_id="b", question="Is it?", correct=False, reward=1.0))
    write_table(tmp_path / "rollouts.parquet", rows, ROLLOUTS)
    settings = {"reward": {"penalty": 2.0, "diversity": False}, "encoder": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vlmdx.discovery.embedder.Embedder.__call__", lambda self, t: np.ones((len(t), 1), np.float32))
        run("recompute_rewards", {"rollouts": tmp_path / "rollouts.parquet"}, {"out": tmp_path / "new.parquet"},
            settings, run="toy", reward="harsh")  # fmt: skip
    assert read_table(tmp_path / "new.parquet", ROLLOUTS)["reward"].to_pylist() == [-2.0, 1.0]


def test_the_account_balances_and_tells_what_was_set_aside(tmp_path):
    rows = rollouts(weak_at_counting, images=10, seeds=(0, 1))
    rows.append(row(image_id="z", question="Is it?", valid=None, turn=9))
    rows.append(row(image_id="z", question="Was it?", correct=None, turn=8))
    table = pd.DataFrame(rows)
    valid = sorted({(r["image_id"], r["question"]) for r in rows if r["valid"]})
    needed = [{"image_id": i, "question": q, "primitives": None if i == "z" else ["count"],
               "reason": "unreadable" if i == "z" else None} for i, q in valid]  # fmt: skip
    write_table(tmp_path / "rollouts.parquet", rows, ROLLOUTS)
    write_table(tmp_path / "primitives.parquet", needed, PRIMITIVES)
    known = [
        {"image_id": r["image_id"], "question": r["question"], "skills": ["count"]} for r in needed if r["primitives"]
    ]
    write_table(tmp_path / "skills.parquet", known, SKILLS)
    pictures = {i: picture(i) for i in table["image_id"]}
    write_table(tmp_path / "blind.parquet", asked_blind(table, Looks(), pictures), BLIND)
    given = {name: [tmp_path / f"{name}.parquet"] for name in ("rollouts", "primitives", "skills", "blind")}
    settings = {"runs": ["toy"], "methods": ["zero-shot", "rl"], "twice_judged": []}
    run("discovery_accounting", given, {"table": tmp_path / "accounting.csv"}, settings)
    lines = pd.read_csv(tmp_path / "accounting.csv").set_index(["stage", "method"])
    held = lines.loc[("validity, held-out", "zero-shot")]
    assert held["rows_in"] == held["rows_out"] + held["set_aside"] == 102
    assert '"undecided": 1' in held["reasons"]
    assert '"not grounded"' in held["reasons"]
    assert lines["set_aside"].sum() + lines["rows_out"].sum() == lines["rows_in"].sum()
    write_table(tmp_path / "skills.parquet", known[1:], SKILLS)
    with pytest.raises(ValueError, match="1 are lost"):
        run("discovery_accounting", given, {"table": tmp_path / "accounting.csv"}, settings)
