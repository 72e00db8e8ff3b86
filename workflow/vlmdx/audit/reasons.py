"""Why a recorded job is no longer the present one: its digest's parts, then and now, compared."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Parts = Mapping[str, Any]
KINDS = ("code", "settings", "input", "model", "libraries", "upstream", "unrecorded")
MODEL_KEYS = {"source", "revision", "family", "image_encoder", "image_revision", "text_encoder", "text_revision"}
SHORT = 30  # characters of a value that are shown


def changes(then: Parts | None, now: Parts, name: Callable[[str], str | None] = lambda digest: None) -> dict[str, str]:
    """What changed, by kind, each with a few words.

    Args:
        then: parts of the recorded digest; None where they were not kept.
        now: parts of the present digest.
        name: rule of a present digest, to name the jobs before this one.

    Returns:
        A subset of KINDS, in that order. `upstream` alone means that nothing of the job itself changed.
    """
    if then is None:
        return {"unrecorded": "the parts of the recorded digest were not kept"}
    found: dict[str, str] = {}
    if then["code"] != now["code"]:
        found["code"] = "the script or package code that it reaches"
    if files := _differing(then["files"], now["files"]):
        found["code"] = ", ".join(files)
    before, after = then["settings"]["settings"], now["settings"]["settings"]
    settings = _differing(before, after)
    if model := [key for key in settings if key in MODEL_KEYS]:
        found["model"] = ", ".join(told(key, before.get(key), after.get(key)) for key in model)
    if other := [key for key in settings if key not in MODEL_KEYS]:
        found["settings"] = ", ".join(told(key, before.get(key), after.get(key)) for key in other)
    if content := _differing(then["settings"]["content"] or {}, now["settings"]["content"] or {}):
        is_model = {"source", "image_encoder", "questioner", "answerer"} & set(now["settings"]["settings"])
        found["model" if is_model else "input"] = ", ".join(content)
    if libraries := _differing(then["libraries"], now["libraries"]):
        both = [(n, then["libraries"].get(n, "none"), now["libraries"].get(n, "none")) for n in libraries]
        found["libraries"] = ", ".join(f"{n} {old} -> {new}" for n, old, new in both)
    if fresh := set(now["settings"]["before"]) - set(then["settings"]["before"]):
        found["upstream"] = ", ".join(sorted({name(digest) or digest[:8] for digest in fresh}))
    elif set(then["settings"]["before"]) - set(now["settings"]["before"]):
        found["upstream"] = "fewer jobs before it"
    return {kind: found[kind] for kind in KINDS if kind in found}


def told(key: str, then: Any, now: Any) -> str:
    """A changed setting in a few words: `seed 0 -> 1`, `names -fog +snow`, the part of a text that differs."""
    then, now = _plain(then), _plain(now)
    if isinstance(then, list) and isinstance(now, list):
        gone, new = ([str(v) for v in a if v not in b] for a, b in ((then, now), (now, then)))
        return " ".join([key, *(f"-{v}" for v in gone), *(f"+{v}" for v in new)]) if gone or new else f"{key} (order)"
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        return ", ".join(told(f"{key}.{inner}", then.get(inner), now.get(inner)) for inner in _differing(then, now))
    if isinstance(then, str) and isinstance(now, str) and max(len(then), len(now)) > SHORT:
        then, now = _around_difference(then, now)
    return f"{key} {_short(then)} -> {_short(now)}"


def _around_difference(a: str, b: str) -> tuple[str, str]:
    """The differing middle of two texts, with a word before it."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    head = max(a.rfind(" ", 0, max(head - 1, 0)) + 1, head - SHORT // 2)
    return a[head : len(a) - tail], b[head : len(b) - tail]


def _common(a: str, b: str) -> int:
    return next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= 2 * SHORT else f"{text[:SHORT]}...{text[-SHORT:]}"


def _differing(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    missing = object()
    return sorted(key for key in {*then, *now} if _plain(then.get(key, missing)) != _plain(now.get(key, missing)))


def _plain(value: Any) -> Any:
    """As JSON gives it back: tuples are lists, paths are strings."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
