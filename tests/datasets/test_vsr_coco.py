"""The VSR importer, and COCO boxes and presence questions."""

import json
from collections import Counter

import pytest
from vlmdx.datasets.records import DatasetError, RowError
from vlmdx.datasets.vsr import parse_caption, relation_categories

from tests.datasets.box_sheet import draw_boxes, parts, statements


@pytest.fixture
def coco(tmp_path, picture):
    """Six 64 x 48 photos: odd ones show two cats and a car, even ones a crowd of cats and a bed."""

    def write() -> dict:
        names = {1: "cat", 2: "car", 3: "bed", 4: "dog"}
        images = [{"id": i, "file_name": f"{i:012d}.jpg", "width": 64, "height": 48} for i in range(1, 7)]
        marks = []
        for i in range(1, 7):
            picture(f"images/{i:012d}.jpg")
            for category in (1, 1, 2) if i % 2 else (1, 3):
                crowd = int(category == 1 and i % 2 == 0)
                box = [1.5, 2, 10, 12]
                marks.append(
                    {"id": 10 * i + len(marks), "image_id": i, "category_id": category, "bbox": box, "iscrowd": crowd}
                )
        content = {
            "images": images,
            "annotations": marks,
            "categories": [{"id": k, "name": v} for k, v in names.items()],
        }
        (tmp_path / "instances.json").write_text(json.dumps(content))
        return {"instances_file": tmp_path / "instances.json", "images": tmp_path / "images"}

    return write


def statement(image: int, caption: str, label, relation: str) -> dict:
    return {"image": f"{image:012d}.jpg", "caption": caption, "label": label, "relation": relation}


def test_captions():
    assert parse_caption("The hot dog is at the left side of the dining table.", "at the left side of") == (
        "hot dog", "dining table"
    )  # fmt: skip
    assert parse_caption("The cake consists of the dog.", "consists of") == ("cake", "dog")
    with pytest.raises(RowError, match="caption"):
        parse_caption("The cat is on the mat.", "under")


@pytest.mark.parametrize(
    ("label", "answer"), [(1, 0), (0, 1), ("True", 0), ("true", 0), ("0", 1), (True, 0), (False, 1)]
)
def test_d04_labels_in_each_spelling(label, answer, lines, coco, run):
    file = lines(statement(1, "The cat is under the car.", label, "under"))
    found = run("vsr", {"file": file, "images": coco()["images"]})
    [row] = found.items.to_pylist()
    assert row["answer"] == answer and row["options"] == ["yes", "no"] and row["objects"] is None
    assert row["category"] == "under" and row["question"].endswith("The cat is under the car.")


def test_boxes_of_subject_and_object(lines, coco, run, reasons, tmp_path):
    (tmp_path / "cats.txt").write_text("Topological: on, among\n\nProjective: under, on\n")
    file = lines(
        statement(1, "The cat is under the car.", 1, "under"), statement(2, "The cat is on the bed.", 1, "on"),
        statement(2, "The bed is on the bed.", 1, "on"), statement(1, "The cat is near the car.", 1, "near"),
        statement(1, "The cat is under the car.", 2, "under"), statement(9, "The cat is under the car.", 1, "under"),
    )  # fmt: skip
    found = run("vsr", {"file": file, "categories": tmp_path / "cats.txt", **coco()})
    first, same = found.items.to_pylist()
    assert [o["name"] for o in first["objects"]] == ["cat", "cat", "car"] and first["objects"][0]["x"] == 1.5
    ids = [o["object_id"] for o in first["objects"]]
    steps = json.loads(first["program"])
    assert steps[0]["argument"] == f"cat ({ids[0]},{ids[1]})" and steps[1]["argument"] == f"car,under,o ({ids[2]})"
    assert (first["operation"], first["category"], same["category"]) == ("verify", "Projective", "Topological")
    assert len(same["objects"]) == 1  # one box, named twice
    told = reasons(found)
    assert "no 'cat' is annotated" in told["t:2"] and "relation 'near'" in told["t:4"]  # a crowd is no box
    assert "label 2" in told["t:5"] and "does not exist" in told["t:6"]


def test_coco_presence_questions(coco, run):
    found = run("coco", coco())
    rows = found.items.to_pylist()
    assert len(rows) == 12 and Counter(r["answer"] for r in rows) == {0: 6, 1: 6}
    for row in rows:
        odd = int(row["item_id"][2:].split("-")[0]) % 2
        shown = ("cat", "car") if odd else ("bed",)
        if row["answer"] == 0:
            assert row["category"] in shown and all(o["name"] == row["category"] for o in row["objects"])
            assert len(row["objects"]) == (2 if row["category"] == "cat" else 1)
        else:  # never a crowd's category, never one that no photo shows
            assert row["category"] in (("bed",) if odd else ("car",)) and row["objects"] == []
    again = run("coco", coco(), seed=0)
    assert again.items.equals(found.items)


def test_no_instances_file(coco, run, tmp_path):
    settings = coco()
    settings["instances_file"].write_text('{"images": []}')
    with pytest.raises(DatasetError, match="not a COCO instances file"):
        run("coco", settings)


def test_real_vsr_on_coco_photos(data, run):
    folder = data / "vsr-coco"
    table = data / "vsr-text" / "rel_meta_category_dict.txt"
    settings = {"file": folder / "vsr.jsonl", "images": folder / "images", "instances_file": folder / "instances.json"}
    found = run("vsr", {**settings, "categories": table})
    assert (len(found.items), len(found.images), len(found.rejected)) == (23, 14, 0)
    rows = found.items.to_pylist()
    assert all(len(r["objects"]) >= 2 and r["operation"] == "verify" for r in rows)
    assert {r["category"] for r in rows} <= set(relation_categories(table).values())


def test_boxes_of_the_real_statements_are_cocos_own_and_lie_in_the_photos(data):
    """The numbers behind `python -m tests.datasets.box_sheet`, on which they were looked at."""
    shown = statements(data / "vsr-coco")
    coco = json.loads((data / "vsr-coco" / "instances.json").read_text())
    names = {entry["id"]: entry["name"] for entry in coco["categories"]}
    marks = {str(mark["id"]): mark for mark in coco["annotations"]}
    photos = {photo["id"]: photo for photo in coco["images"]}
    assert len(shown) == 23
    for item, pixels in shown:
        photo = photos[int(item["image_id"].partition(":")[2].removesuffix(".jpg").rpartition("_")[2])]
        assert pixels.shape == (photo["height"], photo["width"], 3)
        subject, thing = parse_caption(item["question"].partition("? ")[2], relation(item))
        for word, ids in zip((subject, thing), parts(item), strict=True):
            # Everything of that name in the photo, and nothing else.
            there = {k for k, m in marks.items() if m["image_id"] == photo["id"] and names[m["category_id"]] == word}
            assert set(ids) == {key for key in there if not marks[key].get("iscrowd")} != set()
        assert {box["object_id"] for box in item["objects"]} == {key for ids in parts(item) for key in ids}
        for box in item["objects"]:
            assert box["name"] == names[marks[box["object_id"]]["category_id"]]
            # COCO rounds to hundredths, and a few of its boxes end a hair outside of the photo.
            found = [box["x"], box["y"], box["w"], box["h"]]
            assert found == pytest.approx(marks[box["object_id"]]["bbox"], abs=0.02)
            assert min(found[:2]) >= 0 and min(found[2:]) > 0
            assert box["x"] + box["w"] <= photo["width"] + 1e-3 and box["y"] + box["h"] <= photo["height"] + 1e-3
    figure = draw_boxes(shown[:4])
    drawn = [len(axis.patches) for axis in figure.axes[:4]]
    assert drawn == [len({key for ids in parts(item) for key in ids}) for item, _ in shown[:4]]


def relation(item: dict) -> str:
    """Relation of a statement, out of its program."""
    return json.loads(item["program"])[1]["argument"].rpartition(",o (")[0].partition(",")[2]


def test_d04_real_vsr_text_parses_completely(data):
    rows = [json.loads(line) for line in (data / "vsr-text" / "random-test.jsonl").read_text().splitlines()]
    table = relation_categories(data / "vsr-text" / "rel_meta_category_dict.txt")
    assert len(rows) == 2195 and len(set(table.values())) == 7
    names = {name for row in rows for name in parse_caption(row["caption"], row["relation"])}
    assert len(names) <= 80 and "potted plant" in names and all(row["relation"] in table for row in rows)
