"""The MMVP and BLINK importers."""

import json

import pytest
from vlmdx.datasets.mmvp import split_options
from vlmdx.datasets.records import DatasetError, RowError


def test_mmvp_options():
    assert split_options("(a) Open (b) Closed, or half") == ("Open", "Closed, or half")
    for wrong in ("Open (b) Closed", "(a) Open (c) Closed", "(b) Open (a) Closed", "x (a) Open (b) Closed"):
        with pytest.raises(RowError, match="form"):
            split_options(wrong)


def test_mmvp_rows(tmp_path, picture, run, reasons):
    picture("MMVP Images/1.jpg")
    (tmp_path / "Questions.csv").write_text(
        "lndex,Question,Options,Correct Answer\n1,Which?,(a) Open (b) Closed,(b)\n2,Which?,(a) Open (b) Closed,(a)\n"
        "x,Which?,(a) Open (b) Closed,(a)\n1,Which?,(a) Open (b) Closed,(a)\n"
    )
    found = run("mmvp", {"folder": tmp_path})
    [row] = found.items.to_pylist()
    assert (row["item_id"], row["image_id"], row["options"], row["answer"]) == ("t:1", "t:1.jpg", ["Open", "Closed"], 1)
    assert [r["position"] for r in found.rejected.to_pylist()] == ["2", "3", "4"]
    with pytest.raises(DatasetError, match=r"Questions\.csv"):
        run("mmvp", {"folder": tmp_path / "MMVP Images"})


def test_real_mmvp(data, run):
    found = run("mmvp", {"folder": data / "mmvp"})
    assert (len(found.items), len(found.images), len(found.rejected)) == (300, 300, 0)
    first, second = found.items.to_pylist()[:2]
    assert first["options"] == ["Open", "Closed"] and (first["answer"], second["answer"]) == (0, 1)
    again = run("mmvp", {"folder": data / "mmvp"}, threads=2)
    assert again.summary == found.summary and again.images.equals(found.images) and again.items.equals(found.items)


def test_blink_hidden_answers_are_null(picture, lines, run):
    picture("a.png")
    base = {"idx": "v1", "image": "a.png", "question": "Is it?", "choices": ["yes", "no"], "prompt": "unused"}
    rows = [{**base, "answer": "(B)", "sub_task": "Spatial"}, {**base, "idx": "v2", "answer": "hidden"}]
    found = run("blink", {"file": lines(*rows)})
    assert found.items["answer"].to_pylist() == [1, None] and found.items["category"].to_pylist() == ["Spatial", None]


def test_real_blink(data, run):
    file = data / "blink-spatial" / "questions.jsonl"
    found = run("blink", {"file": file})
    assert (len(found.items), len(found.images), len(found.rejected)) == (143, 143, 0)
    source = [json.loads(line) for line in file.read_text().splitlines()]
    assert found.items["answer"].to_pylist() == [" AB".index(row["answer"][1]) - 1 for row in source]
