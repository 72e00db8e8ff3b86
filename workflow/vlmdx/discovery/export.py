"""Discovered questions as an ordinary data set: a folder that the importer `jsonl` reads.

Options (ours): yes and no; the two things that a question offers; for what a scene graph can answer, the gold and up to
three others of its type, the answerer's wrong answer first among them; without a scene graph, the verifier's right
answer and the wrong answers that were given to the question.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from num2words import num2words

from vlmdx.datasets.gqa_program import operation
from vlmdx.discovery.answers import canonical, same_answer
from vlmdx.discovery.grammar import TYPES, Query
from vlmdx.discovery.graph import Graph
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.program import program
from vlmdx.schema import atomic

OTHERS = 3
COUNTS = [num2words(n) for n in range(8)]
Row = Mapping[str, Any]


def distinct_failures(rows: Iterable[Row]) -> list[list[Row]]:
    """Valid and failed rows, those with the same image and words together, in the order of their first appearance."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["valid"] and row["correct"] is False:
            found.setdefault((row["image_id"], " ".join(row["question"].lower().split())), []).append(row)
    return list(found.values())


def export(
    folder: Path, rows: Iterable[Row], pictures: Sequence[Picture], graphs: Mapping[str, Graph] | None, seed: int
) -> dict[str, int]:
    """Write ``questions.jsonl`` and ``images/``; one item per distinct failed question.

    Args:
        folder: where to; made if need be.
        rows: rows of ROLLOUTS.
        pictures: of all images asked about.
        graphs: scene graphs by image id, for options, programs and boxes; None: options from the answers.
        seed: of the options' order.

    Returns:
        Counts by what became of the failed rows: ``items``, ``repeated``, ``no_options``.

    The gold option is given as text: the importer's ``answer_form`` is ``text``.

    Raises:
        ValueError: no question is left.
    """
    oracle = Oracle(graphs) if graphs is not None else None
    shown = {picture.image_id: picture for picture in pictures}
    counts = {"items": 0, "repeated": 0, "no_options": 0}
    lines, used = [], set()
    for group in distinct_failures(rows):
        counts["repeated"] += len(group) - 1
        first = group[0]
        entry = _entry(group, oracle, graphs, seed)
        if len(entry["options"]) < 2:
            counts["no_options"] += 1
            continue
        counts["items"] += 1
        used.add(first["image_id"])
        lines.append(json.dumps({**entry, "image": f"images/{_file(first['image_id'])}"}, ensure_ascii=False))
    if not lines:
        raise ValueError(f"no failed question to export: {counts}; a run that found nothing makes no data set")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for image_id in sorted(used):
        with atomic(folder / "images" / _file(image_id)) as temporary:
            Path(temporary).write_bytes(shown[image_id].png)
    with atomic(folder / "questions.jsonl") as temporary:
        Path(temporary).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return counts


def _file(image_id: str) -> str:
    """A file name that any image id can have."""
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in image_id)
    return f"{safe if safe == image_id else safe + '-' + hashlib.sha256(image_id.encode()).hexdigest()[:8]}.png"


def _entry(
    group: Sequence[Row], oracle: Oracle | None, graphs: Mapping[str, Graph] | None, seed: int
) -> dict[str, Any]:
    first = group[0]
    image_id, text, gold = first["image_id"], first["question"], first["reference"]
    key = hashlib.sha256(f"{seed}\x1f{image_id}\x1f{text}".encode()).hexdigest()
    rng = np.random.default_rng(int(key[:16], 16))
    said = [row["answer"] for row in group]
    entry: dict[str, Any] = {"id": f"{image_id}-{key[:8]}", "question": text}
    if oracle is None or graphs is None:
        options = _different([gold, *said]) if gold else []
    else:
        query, executed = oracle.explain(image_id, text)
        options = _options(query, executed.answer, said, graphs[image_id], oracle.names, rng)
        steps = program(query, executed)
        things = graphs[image_id]["objects"]
        named = dict.fromkeys(ref for noun in executed.referents for ref in noun)
        boxes = [{"object_id": i, "name": things[i]["name"], **{k: things[i][k] for k in "xywh"}} for i in named]
        entry |= {"program": steps, "objects": boxes}
        if query.form != "count":  # GQA, and so system C, has no counting
            entry["operation"] = operation(steps)
    if options:
        entry["answer"] = options[0]
    return {**entry, "options": [options[i] for i in rng.permutation(len(options))]}


def _different(answers: Iterable[str]) -> list[str]:
    """Answers without those that mean the same as an earlier one, and without empty ones."""
    found: list[str] = []
    for answer in answers:
        if answer and canonical(answer) and not any(same_answer(answer, other) for other in found):
            found.append(answer)
    return found


def _options(
    query: Query, gold: str, said: Sequence[str], graph: Graph, names: Iterable[str], rng: np.random.Generator
) -> list[str]:
    """The gold first, then the others."""
    if gold in ("yes", "no"):
        return [gold, "no" if gold == "yes" else "yes"]
    if query.form == "choose":
        words = [word.removeprefix("to the ").removesuffix(" of") for word in query.words]
        return [gold, *(word for word in words if word != gold)]
    if query.form == "count":
        near = sorted(COUNTS, key=lambda word: abs(COUNTS.index(word) - COUNTS.index(gold)))
        kinds = [near[: OTHERS + 2]]
    elif query.what == "name":  # things of this image first: a name that is nowhere in it is easily ruled out
        kinds = [sorted({thing["name"].lower() for thing in graph["objects"].values()}), sorted(names)]
    else:
        kinds = [sorted(TYPES[query.what])]
    wrong = [word for word in said if any(same_answer(word, other) for kind in kinds for other in kind)]
    shuffled = [kind[i] for kind in kinds for i in rng.permutation(len(kind))]
    return _different([gold, *wrong, *shuffled])[: OTHERS + 1]
