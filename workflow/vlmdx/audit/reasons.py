"""Why a recorded job is no longer the present one: its digest's parts, then and now, compared."""

from collections.abc import Callable, Mapping
from typing import Any

Parts = Mapping[str, Any]
KINDS = ("code", "settings", "input", "model", "libraries", "upstream", "unrecorded")
MODEL_KEYS = {"source", "revision", "family", "image_encoder", "image_revision", "text_encoder", "text_revision"}


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
    settings = _differing(then["settings"]["settings"], now["settings"]["settings"])
    if model := [key for key in settings if key in MODEL_KEYS]:
        found["model"] = ", ".join(model)
    if other := [key for key in settings if key not in MODEL_KEYS]:
        found["settings"] = ", ".join(other)
    if content := _differing(then["settings"]["content"] or {}, now["settings"]["content"] or {}):
        is_model = "source" in now["settings"]["settings"] or "image_encoder" in now["settings"]["settings"]
        found["model" if is_model else "input"] = ", ".join(content)
    if libraries := _differing(then["libraries"], now["libraries"]):
        both = [(n, then["libraries"].get(n, "none"), now["libraries"].get(n, "none")) for n in libraries]
        found["libraries"] = ", ".join(f"{n} {old} -> {new}" for n, old, new in both)
    if fresh := set(now["settings"]["before"]) - set(then["settings"]["before"]):
        found["upstream"] = ", ".join(sorted({name(digest) or digest[:8] for digest in fresh}))
    elif set(then["settings"]["before"]) - set(now["settings"]["before"]):
        found["upstream"] = "fewer jobs before it"
    return {kind: found[kind] for kind in KINDS if kind in found}


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
