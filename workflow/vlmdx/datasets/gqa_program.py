"""GQA functional programs (arXiv 1902.09506): operation of a question, the objects it names, its answer type."""

import re
from collections.abc import Sequence
from typing import Any

from vlmdx.datasets.records import RowError, brief

_IDS = re.compile(r"\s*\((-|[0-9]+(?:\s*,\s*[0-9]+)*)\)\s*$")
_TERMINAL = ("verify", "query", "exist", "choose")

Step = dict[str, Any]


def checked(program: Any) -> list[Step]:
    """The program, if it is a list of {operation, dependencies, argument} whose dependencies are earlier steps.

    Raises:
        RowError: it is not.
    """
    if not isinstance(program, list) or not program:
        raise RowError("semantic is no list of steps")
    for place, step in enumerate(program):
        good = (
            isinstance(step, dict)
            and isinstance(step.get("operation"), str)
            and step["operation"].split()
            and isinstance(step.get("argument"), str)
            and isinstance(step.get("dependencies"), list)
            and all(type(d) is int and 0 <= d < place for d in step["dependencies"])
        )
        if not good:
            raise RowError(f"step {place} of semantic is not {{operation, dependencies, argument}}: {brief(step)}")
    return program


def family(step: Step) -> str:
    """First word of the operation, e.g. ``verify`` of ``verify rel``."""
    return step["operation"].split()[0]


def terminal(program: Sequence[Step]) -> Step:
    """The step that answers; ``and``/``or`` only join answers, so their first branch counts.

    Ours: the grounding rule treats "exist" branch by branch, hence a question that joins branches has their operation.
    """
    step = program[-1]
    while family(step) in ("and", "or") and step["dependencies"]:
        step = program[step["dependencies"][0]]
    return step


def operation(program: Sequence[Step]) -> str:
    """Operation of a question (ours, after the examples of arXiv 2607.16094, section 3).

    relate if any step relates; else filter if any filters; else the terminal step's verify, query, exist or choose
    (``verify rel`` is verify); else select (same, different, common, compare).
    """
    families = [family(step) for step in program]
    for name in ("relate", "filter"):
        if name in families:
            return name
    last = family(terminal(program))
    return last if last in _TERMINAL else "select"


def split_argument(argument: str) -> tuple[str, tuple[str, ...]]:
    """``"book,to the left of,s (12,13)"`` as text and object ids; ``(-)`` and no parenthesis mean no id."""
    found = _IDS.search(argument)
    if not found:
        return argument, ()
    ids = () if found.group(1) == "-" else tuple(part.strip() for part in found.group(1).split(","))
    return argument[: found.start()], ids


def alternatives(program: Sequence[Step], answer: str) -> list[str]:
    """The two answers that a choose question offers, spelt as in ``answer``.

    ``a|b`` in the argument; else (``choose older``) the names of the two things compared. GQA answers "left" where the
    program says "to the left of".

    Raises:
        RowError: the answer is neither of two alternatives.
    """
    step = terminal(program)
    text = split_argument(step["argument"])[0]
    if "|" in text:
        # choose rel: name,relation|relation,s
        part = next(p for p in text.split(",") if "|" in p) if step["operation"] == "choose rel" else text
        found = [name.strip() for name in part.split("|")]
    else:
        found = [_name(program, place) for place in step["dependencies"]]
    if answer not in found:
        found = [name.removeprefix("to the ").removesuffix(" of") for name in found]
    if len(found) != 2 or found[0] == found[1] or answer not in found:
        raise RowError(f"answer {brief(answer)} is none of the two alternatives {brief(found)}")
    return found


def _name(program: Sequence[Step], place: int) -> str:
    """Name of the thing that step ``place`` ends at."""
    step = program[place]
    while family(step) not in ("select", "relate") and step["dependencies"]:
        step = program[step["dependencies"][0]]
    return split_argument(step["argument"])[0].split(",")[0].strip()
