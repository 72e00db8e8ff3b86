"""Execute a query on a scene graph: the exact answer, or why the question has none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from num2words import num2words

from vlmdx.discovery.grammar import OPPOSITE, TYPES, Noun, Query

Graph = Mapping[str, Any]
# Ours: centres this far apart, in widths of the image, are clearly left and right of one another where no relation of
# the graph says it. Above and below stay the graph's alone: in a photo what is higher up may only be farther away.
CLEAR = 1 / 7


class Invalid(Exception):
    """The question has no one answer in this scene; ``criterion`` is the one of validity that fails."""

    def __init__(self, criterion: str, detail: str) -> None:
        super().__init__(detail)
        self.criterion = criterion


class Unknown(Exception):
    """The scene graph does not say."""


@dataclass(frozen=True)
class Executed:
    """The answer, the objects that each noun of the query refers to, and the objects that the answer is about."""

    answer: str
    referents: tuple[tuple[str, ...], ...]


def execute(query: Query, graph: Graph) -> Executed:
    """The answer of ``query`` in the scene ``graph`` (GQA's format).

    A relation that the graph neither states nor contradicts (by its opposite, or left and right by the boxes) is
    debatable, so the question is not objective; so is one that several things fit.

    Raises:
        Invalid: not grounded (presupposes what is not there, or says its own answer) or not objective.
        Unknown: the graph has no annotation to decide by.
    """
    _leaks(query)
    things = {key: {**thing, "span": graph["width"]} for key, thing in graph["objects"].items()}
    if query.form in ("exist", "count"):
        found = _matching(query.nouns[0], things)
        answer = num2words(len(found)) if query.form == "count" else _yes(bool(found))
        return Executed(answer, (tuple(found),))
    subjects = [_the(noun, things) for noun in query.nouns]
    referents = tuple((subject,) for subject in subjects)
    if query.form in ("same", "different"):
        if subjects[0] == subjects[1]:
            raise Invalid("grounded", "both things are one and the same")
        equal = len({_value(things[s], query.what) for s in subjects}) == 1
        return Executed(_yes(equal == (query.form == "same")), referents)
    if query.what == "relation":
        held = [_holds(things, subjects[0], word, subjects[1]) for word in query.words]
        if query.form == "verify":
            return Executed(_yes(held[0]), referents)
        return Executed(_one(query.words, held), referents)
    if query.form == "query":
        return Executed(_value(things[subjects[0]], query.what), referents)
    value = _values(things[subjects[0]])
    if query.form == "choose":
        return Executed(_one(query.words, [word in value for word in query.words]), referents)
    (word,) = query.words
    if word not in value and not (query.what and value & TYPES[query.what]):
        raise Unknown(
            f"the scene graph gives no {query.what or 'attribute like ' + word} of this {query.nouns[0].name}"
        )
    return Executed(_yes(word in value), referents)


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _leaks(query: Query) -> None:
    """A question that says its own answer needs no image."""
    said = query.nouns[0].attributes
    asked = TYPES.get(query.what, frozenset())
    if query.form in ("query", "choose", "verify") and asked & set(said):
        raise Invalid("grounded", f"says the {query.what} that it asks for")
    if query.form == "query" and query.what == "name" and query.nouns[0].name is not None:
        raise Invalid("grounded", "says the name that it asks for")
    if query.form in ("same", "different") and any(asked & set(noun.attributes) for noun in query.nouns):
        raise Invalid("grounded", f"says a {query.what} that it compares")
    if query.form in ("same", "different") and query.what == "name" and all(n.name for n in query.nouns):
        raise Invalid("grounded", "says the names that it compares")
    if query.form == "choose" and len(set(query.words)) < 2:
        raise Invalid("grammatical", "offers one thing twice")


def _one(words: tuple[str, ...], held: list[bool]) -> str:
    true = [word for word, holds in zip(words, held, strict=True) if holds]
    if not true:
        raise Invalid("grounded", f"neither {' nor '.join(words)} is true")
    if len(true) > 1:
        raise Invalid("objective", f"{' and '.join(words)} are both true")
    return true[0].removeprefix("to the ").removesuffix(" of")


def _values(thing: Mapping[str, Any]) -> set[str]:
    return {a.lower() for a in thing.get("attributes", ())}


def _value(thing: Mapping[str, Any], what: str) -> str:
    if what == "name":
        return thing["name"].lower()
    found = sorted(_values(thing) & TYPES[what])
    if not found:
        raise Unknown(f"the scene graph gives no {what} of this {thing['name']}")
    if len(found) > 1:
        raise Invalid("objective", f"the {thing['name']} has several {what}s: {', '.join(found)}")
    return found[0]


def _edges(thing: Mapping[str, Any], other: str) -> set[str]:
    return {r["name"].lower() for r in thing.get("relations", ()) if r["object"] == other}


def _holds(things: Mapping[str, Any], subject: str, relation: str, other: str) -> bool:
    """Whether "subject is relation other"."""
    if subject == other:
        raise Invalid("grounded", "a thing has no place relative to itself")
    edges = _edges(things[subject], other)
    opposite = OPPOSITE.get(relation)
    back = _edges(things[other], subject)
    if relation in edges or (opposite in back if opposite else False):
        return True
    if opposite is not None and (opposite in edges or relation in back):
        return False
    if (gap := _gap(things[subject], things[other], relation)) is not None and abs(gap) >= CLEAR:
        return gap > 0
    raise Invalid("objective", f"whether the {things[subject]['name']} is {relation} is debatable")


def _gap(subject: Mapping[str, Any], other: Mapping[str, Any], relation: str) -> float | None:
    """How far the centre of ``subject`` lies to the side that ``relation`` names, in widths of the image."""
    if relation not in ("to the left of", "to the right of"):
        return None
    right = (subject["x"] + subject["w"] / 2 - other["x"] - other["w"] / 2) / subject["span"]
    return right if relation == "to the right of" else -right


def _matching(noun: Noun, things: Mapping[str, Any]) -> list[str]:
    """Ids of all things that the noun fits."""
    found = [
        key
        for key, thing in things.items()
        if noun.name in (None, thing["name"].lower()) and set(noun.attributes) <= _values(thing)
    ]
    if noun.relation is None or noun.other is None:
        return found
    other = _the(noun.other, things)
    return [key for key in found if key != other and _holds(things, key, noun.relation, other)]


def _the(noun: Noun, things: Mapping[str, Any]) -> str:
    """Id of the one thing that the noun refers to."""
    found = _matching(noun, things)
    called = " ".join([*noun.attributes, noun.name or "object"])
    if not found:
        raise Invalid("grounded", f"there is no such {called}")
    if len(found) > 1:
        raise Invalid("objective", f"there are {len(found)} of {called}")
    return found[0]
