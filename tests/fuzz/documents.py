"""JSON documents with values replaced, removed, moved or named in another way."""

import copy
import json
from typing import Any

from hypothesis import strategies as st

WORDS = ["a.png", "../a.png", "/etc/passwd", "A", "(b)", "yes", "1", "-1", "1e5", "nan", "{}", "'; DROP", "x" * 5000]
TEXT = st.text(max_size=6) | st.sampled_from([*WORDS, "\0", "\ud800", "\u202e"])
NUMBERS = st.integers(-3, 30) | st.floats() | st.sampled_from([10**30, -(10**400), 2**31, 2**63, 0.5, 1e308])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, here: tuple = ()) -> list[tuple]:
    """Paths to every value in a JSON document, its own empty one among them."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, each in inside for path in places(each, (*here, key)))]


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """A copy of ``document`` with up to four values replaced, removed, moved or named in another way."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 4))):
        found = [path for path in places(document) if path]
        if not found:
            break
        *way, key = draw(st.sampled_from(found))
        holder = document
        for step in way:
            holder = holder[step]
        what = draw(st.sampled_from(("replace", "replace", "remove", "rename", "copy")))
        if what == "remove":
            del holder[key]
        elif what == "rename" and isinstance(holder, dict):
            holder[draw(TEXT)] = holder.pop(key)
        elif what == "copy" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[key] = draw(VALUES)
    return document


def dumped(document: Any) -> bytes:
    """JSON text, with whatever Python writes for NaN, and lone surrogates as escapes."""
    return json.dumps(document).encode()
