"""Discovered questions go through the ordinary importer, with the right gold, programs and boxes."""

import json

import pytest
from vlmdx.datasets import jsonl
from vlmdx.demo.draw import draw
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import sample_scene, scene_graph
from vlmdx.discovery.export import export
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.roles import Question
from vlmdx.images import png_bytes

SCENES = [sample_scene(0, index) for index in range(6)]
GRAPHS = {scene.image_id: scene_graph(scene) for scene in SCENES}
PICTURES = [Picture(scene.image_id, "0" * 64, png_bytes(draw(0, scene))) for scene in SCENES]


def row(image_id, question, reference, answer, valid=True, correct=False):
    names = ("image_id", "question", "reference", "answer", "valid", "correct")
    return dict(zip(names, (image_id, question, reference, answer, valid, correct), strict=True))


def failures():
    oracle = Oracle(GRAPHS)
    for scene in SCENES:
        for _, asked in ask(0, scene, 8):
            question = Question(scene.image_id, None, asked.text)
            if oracle.validity([question])[0].valid:
                yield row(scene.image_id, asked.text, oracle.run(question)[1].answer, "blue")


def read(folder):
    found = list(jsonl.read(file=folder / "questions.jsonl", answer_form="text"))
    assert not [r for r in found if hasattr(r, "reason")], found[:2]
    return found


def test_items_of_scene_graphs_have_gold_program_operation_and_boxes(tmp_path):
    rows = list(failures())
    rows += [rows[0], row(SCENES[0].image_id, "Is this right?", None, None, valid=False, correct=None)]
    counts = export(tmp_path, rows, PICTURES, GRAPHS, seed=0)
    assert counts == {"items": len(rows) - 2, "repeated": 1, "no_options": 0}
    items = read(tmp_path)
    assert len(items) == len(rows) - 2
    for item, source in zip(items, rows, strict=False):
        assert item.question == source["question"]
        assert item.options[item.answer] == source["reference"]
        assert item.operation is not None and item.program and item.objects is not None
        assert 2 <= len(item.options) <= 4


def test_the_answerers_own_wrong_answer_is_an_option(tmp_path):
    rows = [r for r in failures() if r["question"].startswith("What color") and r["reference"] != "blue"]
    export(tmp_path, rows, PICTURES, GRAPHS, seed=0)
    assert rows and all("blue" in item.options for item in read(tmp_path))


def test_counting_has_options_near_the_gold_and_no_operation(tmp_path):
    scene = SCENES[0]
    export(tmp_path, [row(scene.image_id, "How many objects are there?", "x", "red")], PICTURES, GRAPHS, seed=0)
    (item,) = read(tmp_path)
    assert item.options[item.answer] == ["zero", "one", "two", "three", "four"][len(scene.things)]
    assert item.operation is None and len(item.options) == 4


def test_without_scene_graphs_the_options_are_the_answers_that_were_given(tmp_path):
    image = SCENES[0].image_id
    rows = [
        row(image, "Who is this?", "A cat", "the dog"),
        row(image, "who is  this?", "a cat", "A dog."),
        row(image, "Who is this?", "a cat", "two birds"),
        row(image, "And that?", "red", "Red."),
        row(image, "Unknown?", None, "red"),
    ]
    counts = export(tmp_path, rows, PICTURES, None, seed=0)
    assert counts == {"items": 1, "repeated": 2, "no_options": 2}
    (item,) = read(tmp_path)
    assert sorted(item.options) == ["A cat", "the dog", "two birds"] and item.options[item.answer] == "A cat"


def test_nothing_found_is_an_error_and_the_same_seed_gives_the_same_bytes(tmp_path):
    with pytest.raises(ValueError, match="no failed question"):
        export(tmp_path, [row("a", "Q?", "x", "y", correct=True)], PICTURES, GRAPHS, seed=0)
    rows = list(failures())
    for name in ("one", "two"):
        export(tmp_path / name, rows, PICTURES, GRAPHS, seed=0)
    assert (tmp_path / "one/questions.jsonl").read_bytes() == (tmp_path / "two/questions.jsonl").read_bytes()
    assert json.loads((tmp_path / "one/questions.jsonl").read_text().splitlines()[0])["image"].startswith("images/")
