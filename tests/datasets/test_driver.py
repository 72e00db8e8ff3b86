"""The driver: settings, accounting, ids, decoding once."""

import numpy as np
import pytest
from PIL import Image
from vlmdx.datasets import driver
from vlmdx.datasets.records import DatasetError
from vlmdx.images import from_png, pixel_sha256
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED


def row(image="a.png", **more) -> dict:
    return {"image": image, "question": "What?", "options": ["cat", "dog"], "answer": 0, **more}


@pytest.mark.parametrize(
    ("importer", "change", "message"),
    [
        ("jsonl", {"fil": "x"}, r"fil = 'x'.*settings file, answer_form"),
        ("jsonl", {"file": "/no/such.jsonl"}, r"file = '/no/such.jsonl'.*file"),
        ("jsonl", {"answer_form": "roman"}, r"answer_form = 'roman'"),
        ("gqa", {}, r"questions.*scene_graphs.*images"),
        ("nosuch", {}, r"no importer 'nosuch'"),
        ("boxes", {}, r"no importer 'boxes'"),
    ],
)
def test_wrong_settings_are_named_before_anything_is_read(importer, change, message, run, lines, monkeypatch):
    monkeypatch.setattr("vlmdx.datasets.jsonl.json_lines", lambda _: pytest.fail("read"))
    options = {"file": lines(row()), **change} if importer == "jsonl" else change
    with pytest.raises(DatasetError, match=message) as caught:
        run(importer, options)
    assert "\n" not in str(caught.value)


def test_nothing_left_raises_with_the_reasons(run, lines):
    with pytest.raises(DatasetError, match=r"no usable row(.|\n)*3 rows = 0 items(.|\n)*3 x image … does not exist"):
        run("jsonl", {"file": lines(row("1.png"), row("2.png"), row("3.png"))})


def test_each_image_is_decoded_once(run, lines, picture, monkeypatch):
    for name in ("a.png", "b.png"):
        picture(name)
    calls: list[str] = []
    decode = driver.decode_file
    monkeypatch.setattr(driver, "decode_file", lambda path, **k: calls.append(path.name) or decode(path, **k))
    run("jsonl", {"file": lines(*[row("ab"[i % 2] + ".png") for i in range(200)])})
    assert sorted(calls) == ["a.png", "b.png"]


def test_tables_fit_their_contracts_and_hold_the_pixels(run, lines, picture, tmp_path):
    path = picture("a.png", 31, 17)
    found = run("jsonl", {"file": lines(*[row(id=i) for i in range(5000)], row("no.png"))})
    tables = {ITEMS: found.items, IMAGES: found.images, REJECTED: found.rejected}
    for contract, table in tables.items():
        write_table(tmp_path / f"{contract.name}.parquet", table, contract, {})
    [image] = read_table(tmp_path / "images.parquet", IMAGES).to_pylist()
    pixels = from_png(image["image"]["bytes"])
    assert (image["width"], image["height"], image["mode"], image["orientation"]) == (31, 17, "RGB", 1)
    assert image["sha256"] == pixel_sha256(pixels) and (pixels == np.asarray(Image.open(path))).all()
    assert len(read_table(tmp_path / "items.parquet", ITEMS)) == 5000
    assert len(read_table(tmp_path / "rejected.parquet", REJECTED)) == 1


def test_d04_summary_prints_counts_reasons_and_a_checksum_of_the_split(run, lines, picture):
    picture("a.png")
    rows = [row(), row(question="Why?"), row("no.png"), row("no2.png"), row(options=["a"])]
    found = run("jsonl", {"file": lines(*rows)})
    head, *told = found.summary.lines("t")
    assert head.startswith("t: 5 rows = 2 items on 1 images + 3 set aside; checksum ")
    assert told[0].startswith("  2 x image … does not exist") and len(told) == 2
    changed = run("jsonl", {"file": lines(*rows[:1], row(question="Why not?"), *rows[2:])})
    assert changed.summary.checksum != found.summary.checksum
    assert run("jsonl", {"file": lines(*rows)}).summary.checksum == found.summary.checksum


def test_image_of_set_aside_items_is_not_kept(run, lines, picture):
    picture("a.png")
    picture("b.png")
    outside = [{"name": "cat", "x": 900, "y": 0, "w": 5, "h": 5}]
    found = run("jsonl", {"file": lines(row(), row("b.png", objects=outside))})
    assert found.images["image_id"].to_pylist() == ["t:a.png"]
