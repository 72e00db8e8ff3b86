"""Write demo scenes as a folder in GQA's own file format, for the ordinary GQA importer."""

import json
import os
import shutil
from pathlib import Path

from PIL import Image

from vlmdx.demo.asked import Asked, answer_type
from vlmdx.demo.draw import draw
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import Scene, sample_scene, scene_graph


def write_scenes(folder: str | Path, seed: int, first: int, count: int, questions_per_scene: int) -> None:
    """Write scenes ``first .. first + count - 1`` of world ``seed``: questions.json, sceneGraphs.json, images/*.png.

    A scene's bytes depend on the seed and its index, never on ``first`` or ``count``. A kill leaves no half-written
    file under a final name.

    Raises:
        ValueError: a scene does not hold ``questions_per_scene`` different questions.
    """
    folder = Path(folder)
    images = folder / f".images.{os.getpid()}"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    questions, graphs = {}, {}
    for index in range(first, first + count):
        scene = sample_scene(seed, index)
        Image.fromarray(draw(seed, scene)).save(images / f"{scene.image_id}.png")
        graphs[scene.image_id] = scene_graph(scene)
        for number, (_, asked) in enumerate(ask(seed, scene, questions_per_scene)):
            question_id = f"{scene.image_id}{number:02d}"
            questions[question_id] = gqa_question(scene, asked, question_id)
    _write(folder / "questions.json", questions)
    _write(folder / "sceneGraphs.json", graphs)
    shutil.rmtree(folder / "images", ignore_errors=True)
    images.rename(folder / "images")


def gqa_question(scene: Scene, asked: Asked, question_id: str) -> dict:
    """One GQA record. ``groups.global`` holds the answer type (color, shape), null for yes/no, as GQA does."""
    structural, semantic = asked.types
    kind = answer_type(asked.answer)
    nouns = {
        str(i): asked.nouns[word.strip("?.,")]
        for i, word in enumerate(asked.text.split())
        if word.strip("?.,") in asked.nouns
    }
    return {
        "question": asked.text,
        "imageId": scene.image_id,
        "answer": asked.answer,
        "fullAnswer": asked.full_answer,
        "isBalanced": True,
        "groups": {
            "global": None if kind == "yesno" else kind,
            "local": f"{asked.kind}-{'_'.join(sorted(asked.nouns)) or 'none'}",
        },
        "entailed": [],
        "equivalent": [question_id],
        "types": {"detailed": asked.kind, "semantic": semantic, "structural": structural},
        "annotations": {"question": nouns, "answer": {}, "fullAnswer": {}},
        "semantic": [{"operation": o, "dependencies": d, "argument": a} for o, d, a in asked.steps],
    }


def _write(file: Path, records: dict) -> None:
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_text(json.dumps(records, indent=1) + "\n")
    new.replace(file)
