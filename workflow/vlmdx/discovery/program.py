"""A read question as GQA's functional program, and the elementary abilities that it needs."""

from typing import Any

from vlmdx.discovery.grammar import Noun, Query, type_of
from vlmdx.discovery.graph import Executed

Step = dict[str, Any]


def program(query: Query, executed: Executed) -> list[Step]:
    """Steps ``{operation, dependencies, argument}`` as in GQA (arXiv 1902.09506); ids are those of the executed nouns.

    GQA has no counting; its step is called ``count`` here.
    """
    steps: list[Step] = []
    ends = [_noun(steps, noun, ids) for noun, ids in zip(query.nouns, executed.referents, strict=True)]
    ids = [",".join(found) or "-" for found in executed.referents]
    if query.form in ("exist", "count"):
        return [*steps, _step(query.form, ends, "?")]
    if query.form in ("same", "different"):
        return [*steps, _step(f"{query.form} {query.what}", ends, query.what)]
    if query.form == "query":
        return [*steps, _step("query", ends, query.what)]
    if query.what == "relation":  # GQA selects one of the two things and names the other in the argument
        other = query.nouns[1].name or "object"
        argument = f"{other},{'|'.join(query.words)},o ({ids[1]})"
        return [*_only(query.nouns[0], executed.referents[0]), _relation(query, executed, argument)]
    operation = f"{query.form} {query.what}".strip()
    return [*steps, _step(operation, ends, "|".join(query.words))]


def primitives(query: Query) -> tuple[str, ...]:
    """Elementary abilities that the question needs, sorted; names of ours, read off the query (taxonomy, stage 1)."""
    found = {_FORMS[query.form]}
    for noun in query.nouns:
        found |= _noun_primitives(noun)
    if query.what == "relation":
        found |= {f"tell {_axis(word)}" for word in query.words}
    elif query.what == "name":
        found.add("name a shape or object")
    elif query.what:
        found.add(f"see {query.what}")
    return tuple(sorted(found))


_FORMS = {
    "exist": "say whether something is there",
    "count": "count",
    "query": "answer an open question",
    "verify": "confirm or deny",
    "choose": "choose between two",
    "same": "compare two things",
    "different": "compare two things",
}


def _axis(relation: str) -> str:
    if relation in ("to the left of", "to the right of"):
        return "left from right"
    if relation in ("above", "below"):
        return "above from below"
    return f"whether something is {relation}"


def _noun_primitives(noun: Noun) -> set[str]:
    found = {f"pick out by {type_of(a) or 'attribute'}" for a in noun.attributes}
    if noun.name is not None:
        found.add("recognise a named thing")
    if noun.relation is not None and noun.other is not None:
        found |= {f"find by relation: {_axis(noun.relation)}", *_noun_primitives(noun.other)}
    return found


def _step(operation: str, dependencies: list[int], argument: str) -> Step:
    return {"operation": operation, "dependencies": dependencies, "argument": argument}


def _noun(steps: list[Step], noun: Noun, ids: tuple[str, ...] | None) -> int:
    """Append the steps that find ``noun``; returns the place of the last."""
    found = "" if ids is None else f" ({','.join(ids) or '-'})"
    if noun.relation is not None and noun.other is not None:
        before = [_noun(steps, noun.other, None)]
        steps.append(_step("relate", before, f"{noun.name or '_'},{noun.relation},s{found}"))
    else:
        steps.append(_step("select", [], f"{noun.name or 'object'}{found}"))
    for attribute in noun.attributes:
        steps.append(_step(f"filter {type_of(attribute) or ''}".strip(), [len(steps) - 1], attribute))
    return len(steps) - 1


def _only(noun: Noun, ids: tuple[str, ...]) -> list[Step]:
    steps: list[Step] = []
    _noun(steps, noun, ids)
    return steps


def _relation(query: Query, executed: Executed, argument: str) -> Step:
    last = len(_only(query.nouns[0], executed.referents[0])) - 1
    return _step(f"{query.form} rel", [last], argument)
