"""Read a question about a scene graph: English in, a query over the graph's own words out.

The grammar (ours) covers the questions that GQA's programs can express, in several wordings, and counting::

    Is there a NOUN? Are there any NOUNs? Does the image show a NOUN?                        exist
    How many NOUNs are there? How many NOUNs are RELATION NOUN?                              count
    What|Which TYPE is NOUN? What is the TYPE of NOUN? Which TYPE does NOUN have?            query
    What is RELATION NOUN?                                                                   query (name)
    Is NOUN ATTRIBUTE? Is NOUN RELATION NOUN?                                                verify
    Is NOUN ATTRIBUTE or ATTRIBUTE? Is NOUN RELATION or RELATION NOUN?                       choose
    Are NOUN and NOUN the same TYPE? Do NOUN and NOUN have the same|different TYPEs?         same, different
    Is NOUN the same TYPE as NOUN? Does NOUN have the same TYPE as NOUN?                     same

NOUN is ``the|a|an|any ATTRIBUTE* NAME [RELATION NOUN]``; NAME may be "object" or "thing".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

# Types of attribute that a question can ask for; GQA's scene graphs list attributes without their type.
TYPES: dict[str, frozenset[str]] = {
    "color": frozenset(
        {"red", "green", "blue", "yellow", "purple", "orange", "white", "black", "gray", "grey", "brown", "pink"}
        | {"tan", "beige", "gold", "silver"}
    ),
    "size": frozenset({"small", "large", "big", "little", "tiny", "huge", "tall", "short", "long"}),
    "material": frozenset(
        {"wood", "wooden", "metal", "metallic", "plastic", "glass", "leather", "brick", "concrete", "stone"}
    ),
}
NAME_TYPES = ("shape", "object", "thing", "name")  # asks for an object's name
ANYTHING = ("object", "thing")
PLACES = (("image",), ("picture",), ("photo",), ("scene",))
SPOKEN = {"left of": "to the left of", "right of": "to the right of", "under": "below", "over": "above"}
OPPOSITE = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "above": "below",
    "below": "above",
    "in front of": "behind",
    "behind": "in front of",
}


class Unread(ValueError):
    """The text is none of the grammar's questions."""


@dataclass(frozen=True)
class Noun:
    """A thing that is spoken of: ``name`` None is any thing; ``definite``: it presupposes that there is exactly one."""

    name: str | None
    attributes: tuple[str, ...] = ()
    relation: str | None = None
    other: "Noun | None" = None
    definite: bool = True


@dataclass(frozen=True)
class Query:
    """What is asked.

    Attributes:
        form: exist, count, query, verify, choose, same or different.
        nouns: the thing asked about; for a relation or a comparison also the other one.
        what: attribute type, or "name", or "relation".
        words: what is offered: the attribute or relation to verify, the two to choose from.
    """

    form: str
    nouns: tuple[Noun, ...]
    what: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """The words of a collection of scene graphs."""

    names: frozenset[str]
    attributes: frozenset[str]
    relations: frozenset[str]

    @cached_property
    def spoken(self) -> dict[str, "Phrases"]:
        """Kind of word -> how it may be said -> the word: attributes, relations, and things in singular and plural."""
        things = {*self.names, *ANYTHING}
        return {
            "attribute": Phrases({word: word for word in self.attributes}),
            "relation": Phrases({**{word: word for word in self.relations}, **SPOKEN}),
            "thing": Phrases({name: name for name in things}),
            "things": Phrases({_plural(name): name for name in things}),
        }

    @classmethod
    def of(cls, graphs: Iterable[Mapping[str, Any]]) -> "Vocabulary":
        """All names, attributes and relations that occur; relations with their opposites."""
        names: set[str] = set()
        attributes: set[str] = set().union(*TYPES.values())
        relations: set[str] = set(OPPOSITE)
        for graph in graphs:
            for thing in graph["objects"].values():
                names.add(thing["name"].lower())
                attributes |= {a.lower() for a in thing.get("attributes", ())}
                relations |= {r["name"].lower() for r in thing.get("relations", ())}
        return cls(frozenset(names), frozenset(attributes), frozenset(relations))


class Phrases:
    """Phrases by their first word, the longest first: a large vocabulary is not searched from end to end.

    Args:
        meanings: what each phrase stands for.
    """

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._by_first: dict[str, list[tuple[list[str], str]]] = {}
        for phrase, meaning in sorted(meanings.items(), key=lambda pair: (-len(pair[0].split()), pair)):
            if words := phrase.split():  # a graph may name a thing by nothing
                self._by_first.setdefault(words[0], []).append((words, meaning))

    def at(self, words: Sequence[str], place: int) -> tuple[str, int] | None:
        """Meaning and number of words of the longest phrase that stands at ``place``; None if there is none."""
        first = words[place] if place < len(words) else ""
        for phrase, meaning in self._by_first.get(first, ()):
            if list(words[place : place + len(phrase)]) == phrase:
                return meaning, len(phrase)
        return None


def type_of(attribute: str) -> str | None:
    """Type of an attribute, None where the table does not know it."""
    return next((name for name, words in TYPES.items() if attribute in words), None)


def read_question(text: str, vocabulary: Vocabulary) -> Query:
    """The query that ``text`` asks.

    Raises:
        Unread: it is none of the grammar's questions.
    """
    words = text.lower().replace("?", " ? ").replace(",", " , ").split()
    if not words or words[-1] != "?" or "?" in words[:-1]:
        raise Unread("a question ends with its one question mark")
    asked = words[:-1]
    bare = _without_place(asked)
    return _Reader(bare, vocabulary, placed=bare != asked).question()


def _without_place(words: list[str]) -> list[str]:
    """ "in the image" at the end says nothing."""
    return words[:-3] if words[-3:-1] == ["in", "the"] and (words[-1],) in PLACES else words


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith(("s", "x", "z", "ch", "sh")) else f"{name}s"


class _Reader:
    """Recursive descent; a method that reads nothing raises `Unread` and its caller tries the next form."""

    def __init__(self, words: list[str], vocabulary: Vocabulary, placed: bool) -> None:
        self._words, self._known, self._at = words, vocabulary, 0
        self._placed = placed  # "in the image" stood at the end

    def question(self) -> Query:
        for form in (
            self._exist,
            self._count,
            self._query,
            self._query_name,
            self._compare,
            self._choose,
            self._verify,
        ):
            self._at = 0
            try:
                found = form()
                if self._at == len(self._words):
                    return found
            except Unread:
                continue
        raise Unread(f"not a question of this grammar: {' '.join(self._words)!r:.80}")

    # ---- words ----------------------------------------------------------------------------------------------------

    def _take(self, *phrases: str) -> str:
        """The first of the phrases that stands here."""
        for phrase in phrases:
            wanted = phrase.split()
            if self._words[self._at : self._at + len(wanted)] == wanted:
                self._at += len(wanted)
                return phrase
        raise Unread(f"expected one of {phrases}")

    def _maybe(self, *phrases: str) -> str | None:
        try:
            return self._take(*phrases)
        except Unread:
            return None

    def _known_word(self, kind: str) -> str:
        found = self._known.spoken[kind].at(self._words, self._at)
        if found is None:
            raise Unread(f"expected a known {kind}")
        self._at += found[1]
        return found[0]

    def _attribute(self) -> str:
        return self._known_word("attribute")

    def _relation(self) -> str:
        return self._known_word("relation")

    def _type(self, plural: bool = False) -> str:
        names = [*TYPES, *NAME_TYPES]
        said = self._take(*(f"{n}s" for n in names), *names) if plural else self._take(*names)
        said = said if said in names else said.removesuffix("s")
        return "name" if said in NAME_TYPES else said

    # ---- nouns ----------------------------------------------------------------------------------------------------

    def _noun(self, plural: bool = False, article: bool = True) -> Noun:
        definite = False
        if article:
            definite = self._take("the", "an", "a", "any") == "the"
        attributes = []
        while (found := self._try(self._attribute)) is not None:
            if found in attributes:
                raise Unread(f"says {found!r} twice of one thing")
            attributes.append(found)
        name = self._name(plural)
        before = self._at
        relation, other = self._try(self._relation), None
        if relation is not None and (other := self._try(self._noun)) is None:
            self._at, relation = before, None
        return Noun(name, tuple(attributes), relation, other, definite)

    def _try(self, method):
        before = self._at
        try:
            return method()
        except Unread:
            self._at = before
            return None

    def _name(self, plural: bool) -> str | None:
        name = self._known_word("things" if plural else "thing")
        return None if name in ANYTHING else name

    # ---- forms ----------------------------------------------------------------------------------------------------

    def _exist(self) -> Query:
        if self._maybe("are there"):
            self._take("any")
            return Query("exist", (self._noun(plural=True, article=False),))
        if not self._maybe("is there"):
            self._take(*(f"does the {place} {verb}" for (place,) in PLACES for verb in ("show", "have", "contain")))
        noun = self._noun()
        if noun.definite:
            raise Unread("'is there the' is not English")
        return Query("exist", (noun,))

    def _count(self) -> Query:
        self._take("how many")
        noun = self._noun(plural=True, article=False)
        verb = self._take("are there", "are", "can be seen", "do you see")
        whole = verb != "are" or self._placed  # "How many circles are?" is no question, though "... in the image?" is
        if not whole or self._at < len(self._words):
            noun = Noun(noun.name, noun.attributes, self._relation(), self._noun(), False)
        return Query("count", (noun,))

    def _query(self) -> Query:
        self._take("what", "which")
        if self._maybe("is the"):
            what = self._type()
            self._take("of")
            return Query("query", (self._noun(),), what)
        what = self._type()
        if self._maybe("does"):
            noun = self._noun()
            self._take("have")
        else:
            self._take("is")
            noun = self._noun()
        if self._maybe(","):
            return Query("choose", (noun,), what, self._two(self._attribute))
        return Query("query", (noun,), what)

    def _query_name(self) -> Query:
        self._take("what", "which object", "which thing", "which shape")
        self._take("is")
        return Query("query", (Noun(None, (), self._relation(), self._noun()),), "name")

    def _compare(self) -> Query:
        if self._maybe("are"):
            first, second = self._noun(), (self._take("and"), self._noun())[1]
            self._take("the same")
            return Query("same", (first, second), self._type())
        if self._maybe("do"):
            first, second = self._noun(), (self._take("and"), self._noun())[1]
            form = "same" if self._take("have the same", "have different").endswith("same") else "different"
            return Query(form, (first, second), self._type(plural=form == "different"))
        verb = self._take("is", "does")
        first = self._noun()
        self._take("the same" if verb == "is" else "have the same")
        what = self._type()
        self._take("as")
        return Query("same", (first, self._noun()), what)

    def _two(self, method) -> tuple[str, str]:
        first = method()
        self._take("or")
        return first, method()

    def _choose(self) -> Query:
        self._take("is")
        noun = self._noun()
        if (words := self._try(lambda: self._two(self._attribute))) is not None:
            return Query("choose", (noun,), type_of(words[0]) or "", words)
        words = self._try(lambda: self._two(self._relation)) or self._sides()
        return Query("choose", (noun, self._noun()), "relation", words)

    def _sides(self) -> tuple[str, str]:
        """ "to the left or to the right of" """
        first = self._take("to the left", "to the right", "left", "right", "in front")
        self._take("or")
        relation = SPOKEN.get(f"{first} of", f"{first} of")
        return relation, self._relation()

    def _verify(self) -> Query:
        self._take("is")
        noun = self._noun()
        if self._at == len(self._words) and noun.relation and noun.other:  # "is [the cross] above [the circle]"
            subject = replace(noun, relation=None, other=None)
            return Query("verify", (subject, noun.other), "relation", (noun.relation,))
        attribute = self._attribute()
        return Query("verify", (noun,), type_of(attribute) or "", (attribute,))
