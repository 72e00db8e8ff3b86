"""The trials of section M that end in a table: from the logits of a stub to accuracy."""

import math

import pyarrow as pa
import pytest
import torch
from vlmdx.reliability import reliability_tables
from vlmdx.schema import write_table
from vlmdx.schema.tables import ITEMS, SCORES
from vlmdx.scoring.cell import score_cell
from vlmdx.scoring.question import ask

from tests.reliability.synthetic_scores import SETTINGS
from tests.scoring.stub import VOCABULARY, Stub, item, letters
from tests.scoring.test_readout import LETTER, png

FOG = {**SETTINGS, "families": {"weather": ["fog"]}, "severities": [1]}


def measure(folder, logits, items):
    """Scores of a stub on clean images and in fog, and the reliability tables made of them."""
    stub = Stub(logits)
    questions = [ask(stub, one, "letter", LETTER) for one in items]
    images = {one["image_id"]: png() for one in items}
    paths = []
    for name, corruption, severity in (("clean", "clean", 0), ("weather", "fog", 1)):
        rows = score_cell(stub, questions, [images], corruption, severity, "letter", 10_000)
        paths.append(str(folder / f"{name}.parquet"))
        write_table(paths[-1], pa.Table.from_pylist(rows, SCORES.schema), SCORES)
    write_table(folder / "items.parquet", items, ITEMS)
    tables = reliability_tables("m", paths, str(folder / "items.parquet"), **FOG)
    return tables, {r["metric"]: r["value"] for r in tables.summary.to_pylist() if r["scope"] == "all"}


def test_m08_rows_3_4_and_5_are_nobodys_answer_and_never_right(tmp_path):
    """Row 3 all NaN, row 4 one +inf, row 5 all -inf, each with gold A; the other three are answered B, gold A."""
    bad = {
        "q3": torch.full((VOCABULARY,), math.nan),
        "q4": letters(A=math.inf),
        "q5": torch.full((VOCABULARY,), -math.inf),
    }
    items = [item(f"row {n}", ["x", "y"], answer=0, question=f"q{n}") for n in range(1, 7)]
    tables, found = measure(tmp_path, lambda p, *_: bad.get(p.split("\n")[0], letters(B=1.0)), items)
    assert found["accuracy_clean"] == found["accuracy_corrupted"] == 0
    assert found["items"] == 3 and found["set_aside"] == 3
    assert sorted(row["item_id"] for row in tables.set_aside.to_pylist()) == ["row 3", "row 4", "row 5"]
    assert set(tables.set_aside["reason"].to_pylist()) == {"clean: non-finite logits"}
    assert tables.position["answers"].to_pylist() == [3, 3]


def test_m10_answers_without_mass_on_the_letters_are_flagged(tmp_path):
    out = letters(A=1.0)
    out[40] = 20.0  # "So"
    items = [item(f"i{n}", ["x", "y"], question=f"q{n}") for n in range(4)]
    _, found = measure(tmp_path, lambda p, *_: out if p.startswith(("q0", "q1", "q2")) else letters(A=9.0), items)
    assert found["letter_mass_low"] == pytest.approx(0.75)
    assert found["items"] == 4  # flagged, not dropped: the probabilities within the letters are what they are


def test_m04_a_split_without_answers_has_probabilities_and_no_accuracy(tmp_path):
    items = [item("gold", ["x", "y"], answer=0), item("none", ["x", "y"], answer=None)]
    tables, found = measure(tmp_path, lambda *_: letters(A=1.0), items)
    assert found["accuracy_clean"] == 1 and found["items"] == 1 and found["set_aside_no_gold"] == 1
    assert tables.set_aside["reason"].to_pylist() == ["the item has no gold answer"]
