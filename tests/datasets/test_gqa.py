"""The GQA importer, on small worlds in GQA's own format."""

import json
from collections import Counter

import pytest
from vlmdx.datasets.records import DatasetError

COLORS = ("red", "green", "blue", "yellow", "white", "black", "pink", "brown")


def query(image: str, thing: str, color: str, **more) -> dict:
    steps = [
        {"operation": "select", "dependencies": [], "argument": f"bed ({thing})"},
        {"operation": "query", "dependencies": [0], "argument": "color"},
    ]
    types = {"semantic": "attr", "structural": "query", "detailed": "color"}
    row = {"question": "What color is the bed?", "imageId": image, "answer": color, "semantic": steps, "types": types}
    return {**row, "annotations": {"question": {"4": thing}, "answer": {}, "fullAnswer": {}}, **more}


def graph(color: str, thing: str = "11", width=64, height=48, box=(10, 10, 20, 20)) -> dict:
    x, y, w, h = box
    objects = {thing: {"name": "bed", "x": x, "y": y, "w": w, "h": h, "attributes": [color, "large"], "relations": []}}
    return {"width": width, "height": height, "objects": objects}


@pytest.fixture
def world(tmp_path, picture):
    """Write questions, graphs and one image per graph; return the importer's settings."""

    def write(questions: dict, graphs: dict, **sizes) -> dict:
        named = [row.get("imageId") for row in questions.values() if isinstance(row, dict)]
        for image in {name for name in named if isinstance(name, str)}:
            picture(f"images/{image}.jpg", *sizes.get(image, (64, 48)))
        for name, content in (("questions", questions), ("scene_graphs", graphs)):
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        return {k: tmp_path / f"{k}.json" for k in ("questions", "scene_graphs")} | {"images": tmp_path / "images"}

    return write


def many(count: int) -> tuple[dict, dict]:
    questions = {f"q{i}": query(f"i{i % 5}", "11", COLORS[i % len(COLORS)]) for i in range(count)}
    return questions, {f"i{k}": graph("none") for k in range(5)}


def test_four_options_of_one_type_with_balanced_gold(world, run):
    found = run("gqa", world(*many(400)))
    rows = found.items.to_pylist()
    assert len(rows) == 400 and {row["operation"] for row in rows} == {"query"}
    for row in rows:
        assert len(row["options"]) == 4 and set(row["options"]) <= set(COLORS)
        assert row["options"][row["answer"]] == COLORS[int(row["item_id"][3:]) % 8]
    places = Counter(row["answer"] for row in rows)
    assert min(places.values()) > 70  # 100 expected, three standard deviations are 26
    assert rows[0]["objects"] == [{"object_id": "11", "name": "bed", "x": 10, "y": 10, "w": 20, "h": 20}]
    assert json.loads(rows[0]["program"])[1]["argument"] == "color" and rows[0]["category"] == "attr"


def test_options_depend_on_seed_and_id_not_on_order(world, run):
    questions, graphs = many(40)
    first = {r["item_id"]: r for r in run("gqa", world(questions, graphs), seed=1).items.to_pylist()}
    turned = dict(reversed(questions.items()))
    again = {r["item_id"]: r for r in run("gqa", world(turned, graphs), seed=1).items.to_pylist()}
    other = {r["item_id"]: r for r in run("gqa", world(questions, graphs), seed=2).items.to_pylist()}
    assert first == again
    assert any(first[key]["options"] != other[key]["options"] for key in first)


def test_what_is_true_of_the_object_is_no_distractor(world, run):
    questions, graphs = many(40)
    questions["two"] = query("i9", "11", "red")
    graphs["i9"] = graph("green")
    graphs["i9"]["objects"]["11"]["attributes"] += ["blue", "yellow", "white"]
    rows = {r["item_id"]: r for r in run("gqa", world(questions, graphs)).items.to_pylist()}
    assert set(rows["t:two"]["options"]) == {"red", "black", "pink", "brown"}


def test_yes_no_and_choose(world, run):
    steps = [
        {"operation": "select", "dependencies": [], "argument": "bed (11)"},
        {"operation": "choose rel", "dependencies": [0], "argument": "cat,to the left of|to the right of,s (11)"},
    ]
    choose = {f"c{i}": query("i0", "11", "left", semantic=steps) for i in range(60)}
    exist = [steps[0], {"operation": "exist", "dependencies": [0], "argument": "?"}]
    questions = {**choose, "e": query("i0", "11", "no", semantic=exist)}
    rows = {r["item_id"]: r for r in run("gqa", world(questions, {"i0": graph("red")})).items.to_pylist()}
    assert (rows["t:e"]["options"], rows["t:e"]["answer"], rows["t:e"]["operation"]) == (["yes", "no"], 1, "exist")
    chosen = [r for key, r in rows.items() if key != "t:e"]
    assert all(sorted(r["options"]) == ["left", "right"] and r["options"][r["answer"]] == "left" for r in chosen)
    assert 15 < sum(r["answer"] for r in chosen) < 45


def test_rare_types_borrow_and_lonely_ones_are_set_aside(world, run, reasons):
    questions, graphs = many(16)
    questions["rel"] = query("i0", "11", "red", types={"semantic": "rel"})
    weather = [
        {"operation": "select", "dependencies": [], "argument": "scene"},
        {"operation": "query", "dependencies": [0], "argument": "weather"},
    ]
    questions["lonely"] = query("i0", "11", "foggy", semantic=weather)
    found = run("gqa", world(questions, graphs))
    rows = {r["item_id"]: r for r in found.items.to_pylist()}
    assert len(rows["t:rel"]["options"]) == 4
    assert "no other answer of the type 'attr / query / weather'" in reasons(found)["t:lonely"]


def test_d02_no_graph_or_object_is_set_aside_with_reason(world, run, reasons):
    questions, graphs = many(16)
    graphs |= {"empty": {"width": 64, "height": 48, "objects": {}}, "other": graph("red", thing="99")}
    questions |= {"a": query("absent", "11", "red"), "b": query("empty", "11", "red"), "c": query("other", "11", "red")}
    questions["d"] = query("i0", "11", "red", annotations={"question": {}, "answer": {"0": "77"}, "fullAnswer": {}})
    found = run("gqa", world(questions, graphs))
    assert len(found.items) == 16
    assert reasons(found) == {
        "t:a": "no scene graph for image 'absent'; only the train and val graphs are public",
        "t:b": "the scene graph of image 'empty' is empty, the question is about object '11'",
        "t:c": "object '11' is not in the scene graph of image 'other'",
        "t:d": "object '77' is not in the scene graph of image 'i0'",
    }


def test_d01_box_outside_sets_the_question_aside(world, run, reasons):
    questions, graphs = many(16)
    questions |= {"out": query("out", "11", "red"), "part": query("part", "11", "red")}
    graphs |= {"out": graph("red", box=(10, -904, 20, 20)), "part": graph("red", box=(50, -4, 100, 20))}
    found = run("gqa", world(questions, graphs))
    assert list(reasons(found)) == ["t:out"] and "covers nothing" in reasons(found)["t:out"]
    part = next(r for r in found.items.to_pylist() if r["item_id"] == "t:part")["objects"][0]
    assert (part["x"], part["y"], part["w"], part["h"]) == (50, 0, 14, 16)


def test_d03_shrunk_image_and_turned_image(world, run, reasons, tmp_path):
    from PIL import Image

    questions, graphs = many(16)
    questions |= {"half": query("half", "11", "red"), "exif": query("exif", "11", "red")}
    graphs |= {k: graph("red", width=500, height=375, box=(100, 75, 200, 150)) for k in ("half", "exif")}
    settings = world(questions, graphs, half=(250, 188), exif=(500, 375))
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(tmp_path / "images" / "exif.jpg").save(tmp_path / "images" / "exif.jpg", exif=exif)
    found = run("gqa", settings)
    half = next(r for r in found.items.to_pylist() if r["item_id"] == "t:half")["objects"][0]
    assert (half["x"], half["w"]) == (50, 100) and half["y"] == pytest.approx(37.6)
    assert "500 x 375 px, the image is 375 x 500 turned" in reasons(found)["t:exif"]


def test_i04_missing_image_is_set_aside(world, run, reasons, tmp_path):
    questions, graphs = many(16)
    settings = world(questions, graphs)
    (tmp_path / "images" / "i0.jpg").unlink()
    found = run("gqa", settings)
    assert len(found.items) == 12 and set(reasons(found).values()) == {
        "image 'i0' is not in the images folder; add 'i0.jpg'"
    }


def test_draw_per_operation_is_stable_and_counted(world, run):
    questions, graphs = many(60)
    few = run("gqa", world(questions, graphs) | {"per_operation": 10})
    more = run("gqa", world(questions, graphs) | {"per_operation": 20})
    assert len(few.items) == 10 and few.summary.undrawn == 50 and few.summary.read == 60
    assert set(few.items["item_id"].to_pylist()) < set(more.items["item_id"].to_pylist())
    assert len(run("gqa", world(questions, graphs) | {"per_operation": 10}, seed=9).items) == 10


def test_broken_questions_become_rejected_rows(world, run, reasons):
    questions, graphs = many(16)
    questions |= {
        "list": [1], "nosem": {"question": "?"}, "types": query("i0", "11", "red", types=None),
        "image": query("i0", "11", "red", imageId=["x"]), "text": query("i0", "11", "red", question=None),
        "ann": query("i0", "11", "red", annotations=[1]), "answer": query("i0", "11", ""),
        "program": query("i0", "11", "red", semantic=[{}]),
    }  # fmt: skip
    found = run("gqa", world(questions, graphs))
    assert len(found.items) == 16 and set(reasons(found)) == {
        f"t:{k}" for k in ("list", "nosem", "types", "image", "text", "ann", "answer", "program")
    }


def test_a_key_that_stands_twice_is_not_lost(world, run, reasons, tmp_path):
    questions, graphs = many(16)
    settings = world(questions, graphs)
    text = settings["questions"].read_text()
    settings["questions"].write_text(f'{text[:-1]}, "q3": {json.dumps(questions["q3"])}, "q4": 1, "q4": 2}}')
    found = run("gqa", settings)
    assert found.summary.read == 19 and len(found.items) == 16
    assert [r["position"] for r in found.rejected.to_pylist()] == ["q3", "q4", "q4 (2)"]


def test_two_files_for_one_image_id(world, run, picture):
    settings = world(*many(16))
    picture("images/i0.png")
    with pytest.raises(DatasetError, match=r"i0\.jpg and i0\.png"):
        run("gqa", settings)
