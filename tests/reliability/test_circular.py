"""Position bias from rotations, against models whose bias is known."""

import numpy as np
import pyarrow as pa
import pytest
from vlmdx.reliability.circular import circular_rows
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import ITEMS, REJECTED, SCORES
from vlmdx.scoring.rotate import rotate_items

from tests.reliability import scripts
from tests.reliability.synthetic_scores import item, score_rows, write_items

HOW = {"bootstrap": 100, "confidence": 0.9, "seed": 0}


class Bench:
    """Items of 2 to 4 options on disk with their rotations; ``answer`` scores them with a made-up model."""

    def __init__(self, folder):
        self.folder = folder
        self.items = [item(n, 2 + n % 3, n % 2, image=n) for n in range(12)]
        self.items[3] |= {"options": ["thing 0", "thing 1", "None of the above"]}
        table = pa.Table.from_pylist(self.items, ITEMS.schema)
        rotated, rejected = rotate_items(table, "pool")
        self.rotated = rotated.to_pylist()
        self.questions = write_items(folder / "items.parquet", self.items)
        write_table(folder / "rotations.parquet", rotated, ITEMS)
        write_table(folder / "left_out.parquet", rejected, REJECTED)

    def answer(self, model, logits_of, silent=()):
        """Paths of the plain and the rotated clean scores; ``logits_of(item)`` gives a logit per shown option."""
        paths = []
        for name, items in (("bench", self.items), ("circular", self.rotated)):
            rows = []
            for one in items:
                reason = "non-finite logits" if one["item_id"] in silent else None
                rows += score_rows(one, "clean", 0, logits_of(one), reason)
            paths.append(str(self.folder / f"{model}.{name}.parquet"))
            write_table(paths[-1], rows, SCORES)
        return tuple(paths)

    def rows(self, models, rejected=0):
        return circular_rows(models, self.questions, str(self.folder / "rotations.parquet"), rejected, **HOW)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def by_text(one):
    """Chooses by text alone: the right one, but for items whose number is a multiple of 4."""
    number = int(one["item_id"].split(":")[1].split("#")[0])
    right = "thing 0" if number % 2 == 0 else "thing 1"
    wanted = "thing 1" if number % 4 == 0 else right
    return [2.0 if text == wanted else 0.0 for text in one["options"]]


def test_m05_a_model_that_reads_texts_has_no_bias_at_all(bench):
    (row,) = bench.rows({"reader": bench.answer("reader", by_text)})
    assert row["items"] == 12 and row["set_aside"] == 0 and row["answers"] == 12 + len(bench.rotated)
    assert row["consistency"] == 1 and row["accuracy"] == row["accuracy_rotations"] == row["accuracy_circular"] == 0.75
    assert row["position_bias"] == pytest.approx(0, abs=1e-12)
    assert [row[f"bias_{x}"] for x in "ABCD"] == pytest.approx([0] * 4, abs=1e-12)
    assert "bias_E" not in row


def test_a_model_that_always_says_a(bench):
    always = bench.answer("always", lambda one: [2.0, *[0.0] * (len(one["options"]) - 1)])
    (row,) = bench.rows({"always": always}, rejected=5)
    # Rotations per item: 2, 3 or 4, and 2 for the item whose last option stays.
    moves = [2 if n == 3 else 2 + n % 3 for n in range(12)]
    assert row["left_out"] == 5 and row["answers"] == sum(moves)
    assert row["consistency"] == row["accuracy_circular"] == 0
    assert row["accuracy"] == 0.5
    assert row["accuracy_rotations"] == pytest.approx(np.mean([1 / m for m in moves]))
    expected_a = 12 / sum(moves)  # m answers, each of m places expected once
    assert row["bias_A"] == pytest.approx(1 - expected_a)
    assert row["position_bias"] == pytest.approx(1 - expected_a)
    assert row["bias_D"] == pytest.approx(-sum(m == 4 for m in moves) / sum(moves))
    assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]


def test_m08_an_item_that_was_not_scored_in_one_rotation_is_set_aside(bench):
    silent = {"syn:1#r1", "syn:2"}
    (row,) = bench.rows({"reader": bench.answer("reader", by_text, silent)})
    assert (row["items"], row["set_aside"]) == (10, 2)
    whole = {one["item_id"] for one in [*bench.items, *bench.rotated]}
    with pytest.raises(ContractError, match="'mute': no item has an answer in every rotation"):
        bench.rows({"mute": bench.answer("mute", by_text, whole)})


def test_an_option_that_stays_is_no_bias(bench):
    """Always "None of the above" where there is one: a matter of content, it cannot be told from a preference for C."""

    def none_of_them(one):
        return [
            3.0 if text == "None of the above" else logit
            for text, logit in zip(one["options"], by_text(one), strict=True)
        ]

    (row,) = bench.rows({"m": bench.answer("m", none_of_them)})
    assert row["consistency"] == 1 and row["position_bias"] == pytest.approx(0, abs=1e-12)
    assert row["accuracy"] == pytest.approx(8 / 12)


def test_rows_that_do_not_belong_together_are_refused(bench):
    reader = bench.answer("reader", by_text)
    rows = [row for one in bench.rotated[1:] for row in score_rows(one, "clean", 0, by_text(one))]
    write_table(bench.folder / "short.parquet", rows, SCORES)
    with pytest.raises(ContractError, match=rf"short\.parquet: item '{bench.rotated[0]['item_id']}' has no rows"):
        bench.rows({"reader": (reader[0], str(bench.folder / "short.parquet"))})
    bench.items[0]["options"] = ["other", "texts"]
    write_items(bench.folder / "items.parquet", bench.items)
    with pytest.raises(ContractError, match="'syn:0#r1' is no rotation of an item of"):
        bench.rows({"reader": reader})


def test_script_writes_one_row_per_model_with_all_letters(bench, tmp_path):
    models = {"zeta": bench.answer("zeta", by_text), "alpha": bench.answer("alpha", lambda one: by_text(one)[::-1])}
    inputs = {
        "questions": bench.questions,
        "rotated": tmp_path / "rotations.parquet",
        "left_out": tmp_path / "left_out.parquet",
        "plain": [pair[0] for pair in models.values()],
        "scores": [pair[1] for pair in models.values()],
    }
    scripts.run("circular", inputs, {"table": tmp_path / "circular.csv"}, {"models": list(models), **HOW})
    head, *lines = (tmp_path / "circular.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["zeta", "alpha"]
    assert head.startswith(
        "model,items,left_out,set_aside,answers,accuracy,accuracy_low,accuracy_high,accuracy_rotations"
    )
    assert head.endswith("position_bias,bias_A,bias_B,bias_C,bias_D")
