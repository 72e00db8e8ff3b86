"""Which image tokens an operation is about: object ids from the functional program, their boxes, the tokens under them.

Stated in arXiv 2607.16094: relate = object of the last relate step; verify, choose = object and relation argument;
exist = each branch by itself; select, query, filter = the object. How a program's steps are followed to "the object" is
ours, see :func:`branches`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vlmdx.datasets.gqa_program import Step, family, split_argument, terminal
from vlmdx.models.geometry import Rule, View, clip


class SetAside(ValueError):
    """This item cannot be intervened on; the message is the reason it is set aside."""


def branches(program: Sequence[Step], operation: str) -> list[tuple[str, ...]]:
    """Object ids of each grounding set of a question; more than one set only for ``exist`` joined by and/or.

    "The object" of a step is found by following its dependencies back over filters to the nearest step that names ids;
    a step with several dependencies (same, different, compare) is about all of them.

    Raises:
        SetAside: the program names no object: it asks about the scene, or about something that is not in the image.
    """
    if operation == "relate":
        places = [place for place, step in enumerate(program) if family(step) == "relate"]
        found = [_own_ids(program[places[-1]])]
    elif operation in ("verify", "choose"):
        step = terminal(program)
        found = [_unique([*_dependency_ids(program, step), *_own_ids(step)])]
    elif operation == "exist":
        found = [_dependency_ids(program, step) for step in program if family(step) == "exist"]
    else:
        found = [_dependency_ids(program, step) for step in _answering(program)]
        found = [_unique([i for ids in found for i in ids])]
    named = [ids for ids in found if ids]
    if not named:
        arguments = " / ".join(step["argument"] for step in program)
        raise SetAside(f"the program names no object of the image ({arguments:.120})")
    return named


def item_branches(item: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """:func:`branches` of a row of the item table.

    Raises:
        SetAside: also where the item has no program or a named object has no box.
    """
    if not item["program"] or not item["operation"]:
        raise SetAside("the item has no functional program")
    found = branches(json.loads(item["program"]), item["operation"])
    boxed = {thing["object_id"] for thing in item["objects"] or ()}
    if missing := sorted({i for ids in found for i in ids} - boxed):
        raise SetAside(f"object {missing[0]} of the program has no box")
    return found


def tokens_of(
    item: Mapping[str, Any], ids: Sequence[str], image_size: tuple[int, int], views: Sequence[View], rule: Rule
) -> list[int]:
    """Image tokens under the boxes of objects ``ids``, ascending, as numbers among the prompt's image tokens.

    Where a family shows the image more than once (tiles and an overview), tokens of every view that shows a box belong
    to it (ours): an object that is cut out of one view could still be read from the other.

    Args:
        item: row of the item table; boxes in pixels of the stored image.
        ids: objects of one branch.
        image_size: width and height of the stored image.
        views: what the image tokens show, see :meth:`vlmdx.models.adapter.Adapter.image_views`.
        rule: which cells belong to a box.

    Raises:
        SetAside: no token; never "all tokens" instead.
    """
    boxes = [clip(tuple(o[k] for k in "xywh"), image_size) for o in item["objects"] if o["object_id"] in ids]
    found = {token for box in boxes if box for view in views for token in view.tokens_in(box, rule)}
    if not found:
        raise SetAside(f"no image token under the box of {', '.join(ids)}: too small, or where the model does not look")
    return sorted(found)


def _answering(program: Sequence[Step]) -> list[Step]:
    """The steps that answer: both sides of and/or, else the last one."""
    step = program[-1]
    if family(step) in ("and", "or"):
        return [program[place] for place in step["dependencies"]]
    return [step]


def _dependency_ids(program: Sequence[Step], step: Step) -> tuple[str, ...]:
    return _unique([i for place in step["dependencies"] for i in _object_ids(program, program[place])])


def _object_ids(program: Sequence[Step], step: Step) -> tuple[str, ...]:
    if family(step) in ("select", "relate"):
        return _own_ids(step)  # "(-)": not in the image; what a relate step starts from is another object
    return _own_ids(step) or _dependency_ids(program, step)


def _own_ids(step: Step) -> tuple[str, ...]:
    return split_argument(step["argument"])[1]


def _unique(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))
