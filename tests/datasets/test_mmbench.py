"""The MMBench importer: photo by reference, BOM, giant cells, circular copies."""

import base64
import csv
import io

import numpy as np
import pytest
from PIL import Image

HEADER = ["index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image"]


def photo(width=16, height=12) -> str:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


@pytest.fixture
def tsv(tmp_path):
    def write(*rows: list, header=HEADER):
        path = tmp_path / "m.tsv"
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter="\t").writerows([header, *rows])
        return path

    return write


def line(index, image, question="What?", hint="", options=("a1", "b1", "c1", ""), answer="B") -> list:
    return [index, question, hint, *options, answer, "cat", image]


def test_m12_references_bom_quotes_and_giant_cells(tsv, run, reasons):
    giant = photo(400, 300)
    assert len(giant) > 200_000
    odd = 'two\nlines, "quotes"\tand O\'Neil'
    path = tsv(
        line(8, "241", question=odd, hint="Look."), line(241, giant), line(1000241, "241"),
        line(7, "999"), line(9, "8"), line(10, "x" * 100),
    )  # fmt: skip
    found = run("mmbench", {"file": path})
    rows = found.items.to_pylist()
    assert [(r["item_id"], r["image_id"]) for r in rows] == [("t:8", "t:241"), ("t:241", "t:241")]
    assert (
        rows[0]["question"] == f"Look.\n{odd}" and rows[0]["options"] == ["a1", "b1", "c1"] and rows[0]["answer"] == 1
    )
    assert found.images["width"].to_pylist() == [400]
    told = reasons(found)
    assert told["t:1000241"] == "circular copy of 241"
    assert "'999', which holds no image" in told["t:7"] and "'8', which holds no image" in told["t:9"]
    assert "not an image" in told["t:10"] or "no base64" in told["t:10"]


def test_m04_letter_names_a_column_even_beside_empty_ones(tsv, run, reasons):
    path = tsv(
        line(1, photo(), options=("a1", "", "c1", "d1"), answer="D"), line(2, photo(), answer="D"),
        line(3, photo(), answer=""), line(4, photo(), options=("a1", "A1", "", "")),
    )  # fmt: skip
    found = run("mmbench", {"file": path})
    assert found.items.to_pylist()[0]["options"] == ["a1", "c1", "d1"] and found.items["answer"].to_pylist() == [2]
    told = reasons(found)
    assert "empty option" in told["t:2"] and "gold answer ''" in told["t:3"] and "the same" in told["t:4"]


def test_m04_split_without_answers_has_null_gold(tsv, run):
    drop = HEADER.index("answer")
    header = [h for h in HEADER if h != "answer"]
    path = tsv([c for i, c in enumerate(line(1, photo())) if i != drop], header=header)
    assert run("mmbench", {"file": path}).items["answer"].to_pylist() == [None]


def test_real_english_sample_with_circular_copies(data, run):
    found = run("mmbench", {"file": data / "mmbench" / "mmbench-en.tsv"})
    assert (found.summary.read, len(found.items), len(found.images), len(found.rejected)) == (78, 20, 20, 58)
    rows = {r["item_id"]: r for r in found.items.to_pylist()}
    assert all(r["reason"].startswith("circular copy of ") for r in found.rejected.to_pylist())
    assert rows["t:1"]["options"][3].startswith("fruits = [") and rows["t:1"]["answer"] == 3
    assert len(rows["t:2222"]["options"]) == 3 and rows["t:2222"]["answer"] == 2


def test_real_chinese_sample(data, run):
    found = run("mmbench", {"file": data / "mmbench" / "mmbench-cn.tsv"})
    assert (len(found.items), len(found.rejected)) == (20, 0)
    assert next(r for r in found.items.to_pylist() if r["item_id"] == "t:672")["options"] == [
        "六辆",
        "五辆",
        "七辆",
        "八辆",
    ]
