"""What each family is shown for six items: rendered prompt, ids, letter ids. Written to golden/, compared by a test.

    python -m tests.models.goldens        writes them anew, from the repository's root

A difference means that a library, a template, the prompt file or an adapter now shows the models something else, and
that old scores are not comparable; write them anew only where that is meant.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from vlmdx.models.adapter import Adapter
from vlmdx.models.prompts import fill

from tests.models.conftest import EVERY, opened
from tests.models.tiny import picture

FOLDER = Path(__file__).parent / "golden"
TEMPLATE = Path(__file__).parents[2] / "resources" / "prompts" / "letter.txt"
SHOWN = (120, 80)
ITEMS = {
    "two options": ("Is the dog left of the cat?", ["yes", "no"]),
    "three options": ("What color is the car?", ["red", "green", "dark blue"]),
    "four options": ("How many apples are on the table?", ["1", "2", "3", "10 or more"]),
    "five options": ("Which of these is shown?", ["a dog", "a cat", "a bird", "a fish", "none of the above"]),
    "options of several lines": (
        "Which code draws this?",
        ["for i in x:\n    draw(i)", "if x:\n\n  draw()\n", "draw( x )"],
    ),
    "not ASCII": ("Où est le café — «Zoë»?", ["à gauche", "東京タワー", "naïve 🙂"]),
}


def path(family: str) -> Path:
    """Golden file of a family."""
    return FOLDER / f"{family}.json"


def prompts(adapter: Adapter) -> dict[str, Any]:
    """Prompt, number of ids, first and last 20 ids and letter ids of every item."""
    found = {}
    for name, (question, options) in ITEMS.items():
        prompt = adapter.render(fill(TEMPLATE.read_text(encoding="utf-8"), question, options))
        ids = adapter.encode(prompt, picture(*SHOWN)).tolist()
        found[name] = {
            "prompt": prompt,
            "length": len(ids),
            "first_ids": ids[:20],
            "last_ids": ids[-20:],
            "letter_ids": adapter.letter_ids(prompt, len(options)),
        }
    return found


def text(found: dict[str, Any]) -> str:
    """As written: a line per value, so that a difference is read at a glance."""
    items = []
    for name, entry in found.items():
        lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entry.items())
        items.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(items) + "\n}\n"


def main() -> None:
    """Write all golden files."""
    FOLDER.mkdir(exist_ok=True)
    for family in EVERY:
        with tempfile.TemporaryDirectory() as folder:
            found = prompts(opened(family, Path(folder) / family))
        path(family).write_text(text(found), encoding="utf-8")
        print(path(family))


if __name__ == "__main__":
    main()
