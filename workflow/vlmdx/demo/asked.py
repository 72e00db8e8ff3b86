"""One question of the demo world, and the options it is asked with."""

from dataclasses import dataclass, field

import numpy as np

from vlmdx.demo.scene import COLORS, SHAPES, SIZES, Scene, Thing

Rng = np.random.Generator
Steps = list[tuple[str, list[int], str]]  # (operation, dependencies, argument)
OPTIONS = 4


@dataclass(frozen=True)
class Asked:
    """One question: ``nouns`` maps words of the text to the object they name, ``types`` = (structural, semantic)."""

    kind: str
    text: str
    answer: str
    full_answer: str
    steps: Steps
    types: tuple[str, str]
    nouns: dict[str, str] = field(default_factory=dict)


def pick(rng: Rng, values):
    """One of ``values``; ``rng.choice`` would turn records and strings into arrays."""
    values = list(values)
    return values[int(rng.integers(len(values)))]


def unique(scene: Scene) -> list[Thing]:
    """Things whose shape occurs once: "the circle" is then unambiguous."""
    names = [t.shape for t in scene.things]
    return [t for t in scene.things if names.count(t.shape) == 1]


def answer_type(answer: str) -> str:
    """``color``, ``shape``, ``size``, ``relation`` or ``yesno``: only answers of one type can be options together.

    Raises:
        ValueError: a word that is no answer of this world.
    """
    table = {
        "color": COLORS,
        "shape": SHAPES,
        "size": tuple(SIZES),
        "yesno": ("yes", "no"),
        "relation": ("left", "right", "above", "below"),
    }
    for name, words in table.items():
        if answer in words:
            return name
    raise ValueError(f"{answer!r} is no answer of the demo world: {table}")


def options(asked: Asked, rng: Rng) -> list[str]:
    """The options of a question in random order: yes/no, the two alternatives of a choice, else four of one type."""
    kind = answer_type(asked.answer)
    last_operation, _, argument = asked.steps[-1]
    if kind == "yesno":
        found = ["yes", "no"]
    elif last_operation.startswith("choose"):
        found = [short(a) for a in argument.split(" (")[0].removesuffix(",s").split(",")[-1].split("|")]
    else:
        others = [w for w in (COLORS if kind == "color" else SHAPES) if w != asked.answer]
        found = [asked.answer, *(others[i] for i in rng.permutation(len(others))[: OPTIONS - 1])]
    return [found[i] for i in rng.permutation(len(found))]


def short(relation: str) -> str:
    """GQA answers "left" where the program says "to the left of"."""
    return relation.removeprefix("to the ").removesuffix(" of")
