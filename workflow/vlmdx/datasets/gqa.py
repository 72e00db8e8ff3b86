"""GQA (arXiv 1902.09506): compositional questions with functional programs, and scene graphs with boxes.

GQA answers are open. Options are made as follows: yes/no questions get [yes, no]; choose questions their two
alternatives; all others the gold and up to three other answers of the same type, i.e. of questions with equal
``types.semantic``, terminal operation and argument (colours with colours, object names with object names; where these
are too few, ``types.semantic`` may differ), drawn in proportion to how often they are answers in this file, so that a
common word is no giveaway. What the scene graph says of the asked object (its name, its attributes) is never a
distractor. Draw and gold position are seeded per question id.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import DirectoryPath, FilePath, PositiveInt

from vlmdx.datasets.gqa_program import alternatives, checked, family, operation, split_argument, terminal
from vlmdx.datasets.records import (
    Box,
    DatasetError,
    Item,
    Row,
    RowError,
    Undrawn,
    brief,
    make_box,
    normal,
    program_json,
)
from vlmdx.datasets.source import Folder, guarded, json_entries, need, text_id

DISTRACTORS = 3
SUFFIXES = (".jpg", ".png", ".jpeg")

AnswerType = tuple[str, str, str]


def read(
    *,
    questions: FilePath,
    scene_graphs: FilePath,
    images: DirectoryPath,
    seed: int,
    per_operation: PositiveInt | None = None,
) -> Iterator[Row]:
    """Questions whose image has a scene graph that holds every object they name; the others are set aside.

    The questions file is decoded twice, entry by entry: first for the answers that serve as distractors (and the
    draw), then for the rows.

    Args:
        questions: ``*_questions.json``.
        scene_graphs: ``*_sceneGraphs.json`` of the same split; only train and val are public.
        images: folder of ``{imageId}.jpg`` (or ``.png``).
        seed: of distractors, gold position and draw.
        per_operation: draw this many questions of each operation by a hash of seed and id, e.g. the 500 of
            arXiv 2607.16094; None takes all. A drawn question that turns out to be unusable is set aside, not replaced.

    Raises:
        DatasetError: a file is not one JSON object.
    """
    answers: dict[AnswerType, Counter[str]] = {}
    ranked: dict[str, list[tuple[str, str]]] = {}
    wanted: set[str] = set()
    for key, entry in json_entries(questions):
        try:
            program, answer, kind = _parsed(entry)
        except RowError:
            continue  # named in the second pass
        for pool in (kind, ("", *kind[1:])):  # the second serves where one semantic type has too few answers
            answers.setdefault(pool, Counter())[answer] += 1
        ranked.setdefault(operation(program), []).append((_digest(seed, key), key))
        wanted.add(str(entry.get("imageId")))
    drawn = {key for found in ranked.values() for _, key in sorted(found)[:per_operation]}
    parsable = {key for found in ranked.values() for _, key in found}
    undrawn = 0
    graphs = {key: graph for key, graph in json_entries(scene_graphs) if key in wanted}
    source = _Source(questions.name, graphs, answers, _image_names(images), Folder(images), seed)
    for key, entry in json_entries(questions):
        if key in parsable and key not in drawn:
            undrawn += 1
            continue
        yield guarded(source.item, key, entry, source=questions.name, position=key, item_id=key)
    if undrawn:
        yield Undrawn(undrawn)


class _Source:
    """What one question needs to become an item."""

    def __init__(
        self,
        name: str,
        graphs: dict[str, Any],
        answers: dict[AnswerType, Counter[str]],
        image_names: dict[str, str],
        files: Folder,
        seed: int,
    ) -> None:
        self._name, self._graphs, self._image_names, self._files, self._seed = name, graphs, image_names, files, seed
        self._pools = {
            kind: (words := sorted(counts), np.array([counts[w] for w in words], dtype=float))
            for kind, counts in answers.items()
        }

    def item(self, key: str, entry: dict[str, Any]) -> Item:
        program, answer, kind = _parsed(entry)
        image_id, question = need(entry, "imageId", "question")
        image_id = text_id(image_id)
        if image_id not in self._image_names:
            raise RowError(f"image {brief(image_id)} is not in the images folder; add {brief(image_id + SUFFIXES[0])}")
        if image_id not in self._graphs:
            raise RowError(f"no scene graph for image {brief(image_id)}; only the train and val graphs are public")
        graph = self._graphs[image_id]
        objects = _objects(graph, image_id, _named_ids(entry, program))
        rng = np.random.default_rng(int(_digest(self._seed, key)[:16], 16))
        options = self._options(program, answer, kind, graph, rng)
        width, height = graph.get("width"), graph.get("height")
        if not (type(width) is int and type(height) is int and width > 0 and height > 0):
            raise RowError(f"the scene graph of image {brief(image_id)} has no width and height")
        return Item(
            source=self._name,
            position=key,
            item_id=key,
            image_id=image_id,
            image=self._files.file(self._image_names[image_id])[1],
            question=question,
            options=tuple(options),
            answer=options.index(answer),
            category=kind[0],
            operation=operation(program),
            program=program_json(program),
            objects=objects,
            annotated_size=(width, height),
        )

    def _options(
        self, program: list[dict], answer: str, kind: AnswerType, graph: dict, rng: np.random.Generator
    ) -> list[str]:
        if answer in ("yes", "no"):
            return ["yes", "no"]
        if kind[1] == "choose":
            found = alternatives(program, answer)
        else:
            found = [answer, *self._distractors(program, answer, kind, graph, rng)]
        return [found[i] for i in rng.permutation(len(found))]

    def _distractors(
        self, program: list[dict], answer: str, kind: AnswerType, graph: dict, rng: np.random.Generator
    ) -> list[str]:
        taken = [answer, *_said_of(program, graph)]
        found: list[str] = []
        for words, counts in (self._pools[kind], self._pools["", *kind[1:]]):
            # Weighted draw without replacement as an order: exponential waiting times (Efraimidis & Spirakis 2006).
            for place in np.argsort(rng.exponential(size=len(words)) / counts, kind="stable"):
                if len(found) < DISTRACTORS and not any(_same(words[place], other) for other in (*taken, *found)):
                    found.append(words[place])
        if not found:
            raise RowError(
                f"no other answer of the type {brief(' / '.join(kind))} in {self._name} that could be an option"
            )
        return found


def _parsed(entry: Any) -> tuple[list[dict], str, AnswerType]:
    """Program, answer and answer type of a question."""
    if not isinstance(entry, dict):
        raise RowError("the question is no JSON object")
    semantic, answer, types = need(entry, "semantic", "answer", "types")
    program = checked(semantic)
    if not isinstance(answer, str) or not answer.strip():
        raise RowError(f"answer {brief(answer)} is no text")
    if not isinstance(types, dict) or not isinstance(types.get("semantic"), str):
        raise RowError("types.semantic is missing")
    last = terminal(program)
    argument = "" if family(last) == "choose" else split_argument(last["argument"])[0]
    return program, answer, (types["semantic"], family(last), argument)


def _named_ids(entry: dict[str, Any], program: list[dict]) -> list[str]:
    """Ids of the objects that program and annotations name, each once, in order."""
    ids = [i for step in program for i in split_argument(step["argument"])[1]]
    annotations = entry.get("annotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(part, dict) for part in annotations.values()):
        raise RowError("annotations are no object of objects")
    ids += [str(i) for part in annotations.values() for i in part.values()]
    return list(dict.fromkeys(ids))


def _objects(graph: dict[str, Any], image_id: str, ids: list[str]) -> tuple[Box, ...]:
    objects = graph.get("objects") if isinstance(graph, dict) else None
    if not isinstance(objects, dict):
        raise RowError(f"the scene graph of image {brief(image_id)} has no objects")
    if ids and not objects:
        raise RowError(
            f"the scene graph of image {brief(image_id)} is empty, the question is about object {brief(ids[0])}"
        )
    boxes = []
    for object_id in ids:
        if object_id not in objects:
            raise RowError(f"object {brief(object_id)} is not in the scene graph of image {brief(image_id)}")
        found = objects[object_id]
        if not isinstance(found, dict):
            raise RowError(f"object {brief(object_id)} of image {brief(image_id)} is no JSON object")
        if not isinstance(found.get("attributes") or [], list):
            raise RowError(f"the attributes of object {brief(object_id)} of image {brief(image_id)} are no list")
        boxes.append(make_box(object_id, found.get("name"), [found.get(k) for k in "xywh"]))
    return tuple(boxes)


def _said_of(program: list[dict], graph: dict[str, Any]) -> list[str]:
    """Name and attributes of the objects that the answering step is about."""
    waiting: list[int] = list(terminal(program)["dependencies"])
    ids: list[str] = []
    while waiting:
        step = program[waiting.pop()]
        ids += split_argument(step["argument"])[1]
        if family(step) == "filter":  # narrows what came before; a relate step's source is another object
            waiting += step["dependencies"]
    found = [graph["objects"][i] for i in ids if i in graph["objects"]]
    words = [word for thing in found for word in (thing["name"], *(thing.get("attributes") or ()))]
    return [word for word in words if isinstance(word, str)]


def _same(first: str, second: str) -> bool:
    """Whether two answers mean the same word, up to case and a plural s."""
    first, second = normal(first), normal(second)
    return first == second or f"{first}s" == second or f"{second}s" == first


def _image_names(images: Path) -> dict[str, str]:
    """Image id to file name; listed once, because asking 100,000 times is slow on a network disk."""
    found: dict[str, str] = {}
    for path in sorted(images.iterdir()):
        if path.suffix.lower() in SUFFIXES:
            if path.stem in found:
                raise DatasetError(f"{images}: {found[path.stem]} and {path.name} are both image {path.stem}; keep one")
            found[path.stem] = path.name
    return found


def _digest(seed: int, key: str) -> str:
    return hashlib.sha256(f"{seed}:{key}".encode(errors="surrogatepass")).hexdigest()
