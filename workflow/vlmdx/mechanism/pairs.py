"""Questions with one word changed, for the probes: a change that matters for what is looked at, and one that does not.

arXiv 2607.16094 probes vision-sensitive and vision-insensitive pairs and does not say how they were built; all of this
is ours. From each question two others are made:

- *sensitive*: a content word is exchanged. It is the attribute of a filter step ("the red circle"), else the relation
  of a relate step ("to the left of"), else the name of an object that a select or relate step finds in the image. What
  is exchanged is therefore true of the image, what stands in its place mostly is not.
- *insensitive*: a function word is exchanged ("What color" - "Which color", "the circle" - "this circle"): the same
  thing is asked about the same object.

A probe must not tell clean from changed by the words alone. So content words change places among the questions of one
operation: those of a slot (kind of step, article in front, verb of the question) are moved round so that every word
is lost as often as it is gained. And which form of an insensitive pair counts as clean is drawn, half and half: no
state can hold it, so these pairs are the null of the procedure, at the same folds and sample size. What cannot be
hidden is that some words do not go together ("blue apple"); the demo's colours and shapes are free of each other.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vlmdx.datasets.gqa_program import Step, family, split_argument
from vlmdx.mechanism.grounding import SetAside

# First that occurs is exchanged. "which" and "any" ask for the same; "this" points at the same object.
FUNCTION_WORDS = (("what", "which"), ("a", "any"), ("an", "any"), ("the", "this"))
VERB = re.compile(r"\b(is|are|does|do)\b", re.IGNORECASE)
Item = Mapping[str, Any]
Phrase = tuple[int, str, str]  # rank of the kind of step (0 first), slot, words


def word_pairs(items: Sequence[Item], seed: int) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Rows of :data:`vlmdx.mechanism.tables.PAIRS`, and (item_id, reason) of items without a pair.

    Args:
        items: rows of the item table, of one operation.
        seed: of the words' way round, and of which form of the insensitive pair counts as clean.
    """
    slots: dict[tuple[str, ...], list[tuple[str, Item]]] = defaultdict(list)
    aside = []
    for item in items:
        try:
            slot, word = content_word(item)
            reworded(item["question"])
            slots[slot].append((word, item))
        except SetAside as reason:
            aside.append((item["item_id"], str(reason)))
    pairs = []
    for slot, members in slots.items():
        given = moved_round(members, seed)
        for word, item in members:
            other = given.get(item["item_id"])
            if other is None:
                aside.append((item["item_id"], f"no other word to put in the place of {word!r} ({slot[0]})"))
            elif _count(other, item["question"]):
                aside.append((item["item_id"], f"{other!r}, to be put in the place of {word!r}, is in the question"))
            else:
                pairs.append(_row(item, slot[0], word, other))
    pairs.sort(key=lambda pair: _key(seed, "order", pair["item_id"]))
    for place, pair in enumerate(pairs):
        pair["reworded_is_clean"] = place % 2 == 1
    return sorted(pairs, key=lambda pair: pair["item_id"]), sorted(aside)


def content_word(item: Item) -> tuple[tuple[str, ...], str]:
    """Slot and words to be exchanged in a question.

    Raises:
        SetAside: nothing that the program finds in the image is named once, and once only, in the question.
    """
    if not item["program"]:
        raise SetAside("the item has no functional program")
    question = item["question"]
    for _, slot, words in sorted(_phrases(json.loads(item["program"])), key=lambda phrase: phrase[0]):
        if _count(words, question) == 1:
            before = re.search(rf"\b(an?)\s+{re.escape(words)}\b", question, re.IGNORECASE)
            verb = VERB.search(question)
            return (slot, *(found.group(1).lower() if found else "" for found in (before, verb))), words
    raise SetAside("no attribute, relation or object that is in the image is named just once in the question")


def reworded(question: str) -> str:
    """The question with one function word exchanged.

    Raises:
        SetAside: it has none of :data:`FUNCTION_WORDS`.
    """
    for word, other in FUNCTION_WORDS:
        if found := re.search(rf"\b{word}\b", question, re.IGNORECASE):
            other = other.capitalize() if found.group()[0].isupper() else other
            return question[: found.start()] + other + question[found.end() :]
    raise SetAside("the question has none of the function words that are exchanged")


def moved_round(members: Sequence[tuple[str, Item]], seed: int) -> dict[str, str]:
    """Another word for the items of a slot, by item id: as often as a word is taken away it is given.

    Items of a word that more than half of them have get none, as far as they are too many.
    """
    counts = Counter(word for word, _ in members)
    if not counts:
        return {}
    most = max(counts.values())
    limit = min(most, len(members) - most)
    # Words in the order of their hash, and items in that of theirs; then everybody takes the word `limit` places on.
    ranked = sorted(members, key=lambda m: (_key(seed, "word", m[0]), _key(seed, "item", m[1]["item_id"])))
    left: Counter[str] = Counter()
    kept = []
    for word, item in ranked:
        left[word] += 1
        if left[word] <= limit:
            kept.append((word, item["item_id"]))
    return {item_id: kept[(place + limit) % len(kept)][0] for place, (_, item_id) in enumerate(kept)}


def _phrases(program: Sequence[Step]) -> Iterator[Phrase]:
    """What the program finds in the image, by kind of step."""
    for step in program:
        words, ids = split_argument(step["argument"])
        parts = [part.strip() for part in words.split(",")]
        if family(step) == "select" and ids:
            yield 2, "name", words
        elif family(step) == "relate" and ids and len(parts) >= 2:
            yield 1, "relation", parts[1]
            if parts[0] != "_":
                yield 2, "name", parts[0]
        elif family(step) == "filter" and not words.startswith("not(") and _finds(program, step):
            yield 0, step["operation"], words


def _finds(program: Sequence[Step], step: Step) -> bool:
    """Whether the step, or what it narrows, names an object of the image."""
    if split_argument(step["argument"])[1]:
        return True
    return family(step) == "filter" and any(_finds(program, program[place]) for place in step["dependencies"])


def _row(item: Item, slot: str, word: str, other: str) -> dict[str, Any]:
    question = item["question"]
    return {
        "item_id": item["item_id"],
        "image_id": item["image_id"],
        "operation": item["operation"],
        "slot": slot,
        "word": word,
        "other": other,
        "clean": question,
        "sensitive": re.sub(rf"\b{re.escape(word)}\b", lambda _: other, question, flags=re.IGNORECASE),
        "insensitive": reworded(question),
    }


def _count(words: str, question: str) -> int:
    return len(re.findall(rf"\b{re.escape(words)}\b", question, re.IGNORECASE))


def _key(seed: int, *parts: str) -> bytes:
    return hashlib.sha256("\0".join([str(seed), *parts]).encode()).digest()
