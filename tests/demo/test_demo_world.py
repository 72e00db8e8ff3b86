"""Demo scenes: reproducible, independent of each other, and with programs that give the stored answers."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from vlmdx.demo.asked import options
from vlmdx.demo.kinds import KINDS
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import CANVAS, sample_scene, scene_graph
from vlmdx.demo.world import write_scenes

SEED, SCENES, QUESTIONS = 7, 40, 8
ATTRIBUTES = {
    "color": {"red", "green", "blue", "yellow", "purple", "orange", "white", "black"},
    "size": {"small", "large"},
}


def files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_scenes(folder, SEED, 0, SCENES, QUESTIONS)
    return folder


@pytest.fixture(scope="module")
def records(world):
    return json.loads((world / "questions.json").read_text()), json.loads((world / "sceneGraphs.json").read_text())


def test_same_seed_same_bytes(world, tmp_path):
    write_scenes(tmp_path, SEED, 0, SCENES, QUESTIONS)
    assert files(tmp_path) == files(world)


def test_another_seed_gives_other_scenes(world, tmp_path):
    write_scenes(tmp_path, SEED + 1, 0, SCENES, QUESTIONS)
    assert files(tmp_path).keys() == files(world).keys()
    assert all(files(tmp_path)[name] != content for name, content in files(world).items())


def test_a_scene_does_not_depend_on_how_many_are_made(world, tmp_path):
    write_scenes(tmp_path, SEED, 5, 3, QUESTIONS)
    for name in ("questions.json", "sceneGraphs.json"):
        few, many = (json.loads((folder / name).read_text()) for folder in (tmp_path, world))
        assert few and few.items() <= many.items()
    few, many = files(tmp_path), files(world)
    pictures = [n for n in few if n.endswith(".png")]
    assert len(pictures) == 3
    assert all(few[n] == many[n] for n in pictures)


def test_writing_again_replaces_and_leaves_no_temporary_names(world, tmp_path):
    write_scenes(tmp_path, SEED, 0, 4, QUESTIONS)
    write_scenes(tmp_path, SEED, 0, 2, QUESTIONS)
    assert sorted(files(tmp_path)) == ["images/0000000.png", "images/0000001.png", "questions.json", "sceneGraphs.json"]


def test_boxes_lie_inside_the_picture_and_on_the_thing(world, records):
    _, graphs = records
    for image_id, graph in graphs.items():
        picture = np.asarray(Image.open(world / "images" / f"{image_id}.png").convert("RGB")).astype(int)
        assert picture.shape == (graph["height"], graph["width"], 3) == (CANVAS, CANVAS, 3)
        for thing in graph["objects"].values():
            assert thing["x"] >= 0 and thing["x"] + thing["w"] <= CANVAS
            assert thing["y"] >= 0 and thing["y"] + thing["h"] <= CANVAS
            centre = picture[thing["y"] + thing["h"] // 2, thing["x"] + thing["w"] // 2]
            assert nearest_color(centre) == thing["attributes"][0], (image_id, thing, centre)


def nearest_color(pixel: np.ndarray) -> str:
    """Nearest of eight anchor colours, written down here on purpose and not taken from the drawing code."""
    anchors = {
        "red": (215, 40, 40),
        "green": (40, 160, 60),
        "blue": (45, 80, 210),
        "yellow": (235, 215, 50),
        "purple": (140, 50, 170),
        "orange": (240, 135, 30),
        "white": (240, 240, 240),
        "black": (22, 22, 22),
    }
    return min(anchors, key=lambda name: float(np.abs(np.array(anchors[name]) - pixel).sum()))


# --- an executor of GQA programs that shares no code with the generator ---------------------------------------------


def split(argument: str) -> tuple[str, set[str]]:
    """("circle", {"12", "13"}) of "circle (12,13)"; "-" is the empty set."""
    text, _, ids = argument.rpartition(" (")
    inside = ids.removesuffix(")")
    return text, set() if inside == "-" else set(inside.split(","))


def linked(objects: dict, subject: str, name: str, target: str) -> bool:
    return {"name": name, "object": target} in objects[subject]["relations"]


def spoken(relation: str) -> str:
    return {"to the left of": "left", "to the right of": "right"}.get(relation, relation)


def execute(semantic: list[dict], objects: dict) -> str:
    """Answer of a program over a scene graph; a step that refers to things checks the ids its argument states."""
    values: list = []
    for number, step in enumerate(semantic):
        family, _, what = step["operation"].partition(" ")
        argument = step["argument"]
        given = [values[i] for i in step["dependencies"]]
        following = semantic[number + 1]["operation"] if number + 1 < len(semantic) else ""
        if family == "select":
            name, ids = split(argument)
            value = {i for i, o in objects.items() if name in ("object", o["name"])}
            # the ids name what is meant after the filters that follow
            assert ids <= value if following.startswith("filter") else ids == value, (step, value)
        elif family == "filter":
            value = {i for i in given[0] if argument in objects[i]["attributes"]}
            assert value == split(semantic[step["dependencies"][0]]["argument"])[1], (step, value)
        elif family == "relate":
            text, ids = split(argument)
            name, relation, role = text.split(",")
            (anchor,) = given[0]
            assert role == "s"
            value = {i for i in objects if linked(objects, i, relation, anchor) and name in ("_", objects[i]["name"])}
            assert value == ids, (step, value)
        elif family == "query":
            (one,) = given[0]
            value = objects[one]["name"] if argument == "name" else only(objects[one], argument)
        elif family == "exist":
            value = "yes" if given[0] else "no"
        elif family == "verify" and what == "rel":
            text, ids = split(argument)
            name, relation, role = text.split(",")
            (one,), (other,) = given[0], ids
            assert role == "o" and objects[other]["name"] == name
            value = "yes" if linked(objects, one, relation, other) else "no"
        elif family == "verify":
            (one,) = given[0]
            value = "yes" if argument == only(objects[one], what) else "no"
        elif family == "choose" and what == "rel":
            text, ids = split(argument)
            name, relations, role = text.split(",")
            (anchor,), (one,) = given[0], ids
            assert role == "s" and objects[one]["name"] == name
            (relation,) = [r for r in relations.split("|") if linked(objects, one, r, anchor)]
            value = spoken(relation)
        elif family == "choose":
            (one,) = given[0]
            (value,) = set(argument.split("|")) & {only(objects[one], what)}
        elif family in ("same", "different"):
            (one,), (other,) = given
            equal = only(objects[one], what) == only(objects[other], what)
            value = "yes" if equal == (family == "same") else "no"
        else:
            raise AssertionError(f"unknown operation {step}")
        values.append(value)
    return values[-1]


def only(thing: dict, what: str) -> str:
    (value,) = set(thing["attributes"]) & ATTRIBUTES[what]
    return value


def test_every_program_gives_the_stored_answer(records):
    questions, graphs = records
    assert len(questions) == SCENES * QUESTIONS
    for question_id, record in questions.items():
        answer = execute(record["semantic"], graphs[record["imageId"]]["objects"])
        assert answer == record["answer"], (question_id, record)


def operation(semantic: list[dict]) -> str:
    families = [s["operation"].split()[0] for s in semantic]
    if "relate" in families:
        return "relate"
    if "filter" in families:
        return "filter"
    return families[-1] if families[-1] in ("verify", "query", "exist", "choose") else "select"


def test_the_operation_rule_gives_what_the_generator_meant():
    for index in range(60):
        for meant, asked in ask(SEED, sample_scene(SEED, index), QUESTIONS):
            assert operation([{"operation": o} for o, _, _ in asked.steps]) == meant, asked


def test_seven_operations_in_about_equal_number(records):
    counts = Counter(operation(r["semantic"]) for r in records[0].values())
    assert set(counts) == set(KINDS) == {"select", "relate", "verify", "exist", "query", "choose", "filter"}
    assert min(counts.values()) >= len(records[0]) / 14, counts  # half of an equal share


def test_yes_and_no_are_balanced():
    answers = Counter(a.answer for i in range(300) for _, a in ask(SEED, sample_scene(SEED, i), QUESTIONS))
    assert 0.8 < answers["yes"] / answers["no"] < 1.25, answers


def test_annotations_point_at_words_that_name_the_object(records):
    questions, graphs = records
    annotated = 0
    for record in questions.values():
        words = [w.strip("?.,") for w in record["question"].split()]
        for position, object_id in record["annotations"]["question"].items():
            assert words[int(position)] in ("object", graphs[record["imageId"]]["objects"][object_id]["name"]), record
            annotated += 1
    assert annotated > len(questions)


def test_options_hold_the_answer_once_and_four_of_one_type():
    sizes = Counter()
    for index in range(60):
        for meant, asked in ask(SEED, sample_scene(SEED, index), QUESTIONS):
            found = options(asked, np.random.default_rng(index))
            assert found.count(asked.answer) == 1 and len(set(found)) == len(found)
            assert len(found) == (2 if asked.answer in ("yes", "no") or meant == "choose" else 4), (asked, found)
            sizes[len(found)] += 1
    assert set(sizes) == {2, 4}


def test_relations_are_opposite_in_pairs():
    opposite = {
        "to the left of": "to the right of",
        "to the right of": "to the left of",
        "above": "below",
        "below": "above",
    }
    seen = 0
    for index in range(40):
        objects = scene_graph(sample_scene(SEED, index))["objects"]
        for one, thing in objects.items():
            for relation in thing["relations"]:
                assert linked(objects, relation["object"], opposite[relation["name"]], one)
                seen += 1
    assert seen > 40


def test_too_many_questions_are_refused_by_scene():
    with pytest.raises(ValueError, match=r"scene 3: .* asked for"):
        ask(SEED, sample_scene(SEED, 3), 500)
