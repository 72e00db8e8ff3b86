"""Validate a config and say what is wrong with it in one line per mistake."""

import difflib
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from vlmdx.config.root import Config


class ConfigError(ValueError):
    """The config cannot be run; one line per mistake, each with the place, what was expected and the remedy."""


def load(raw: Mapping[str, Any]) -> Config:
    """The typed config of a parsed YAML file.

    Raises:
        ConfigError: with one line per mistake.
    """
    try:
        return Config.model_validate(dict(raw))
    except ValidationError as error:
        raise ConfigError("\n".join(sorted({_line(e, raw) for e in error.errors()}))) from None


def _line(error: Mapping[str, Any], raw: Mapping[str, Any]) -> str:
    # A key may hold anything YAML can write; what would break the line is shown as Python shows it.
    place = [part if isinstance(part, str) else _brief(part) for part in error["loc"] if part != "[key]"]
    place = [part if part.isprintable() and part else repr(part) for part in place]
    # pydantic names the member of a tagged union as a step of the path; users know only their own keys.
    place = [p for i, p in enumerate(place) if not (i == 2 and place[0] == "datasets" and p in _importers())]
    where = "config: " + ".".join(place) if place else "config"
    if error["type"] == "extra_forbidden":
        known = _keys_beside(place)
        near = difflib.get_close_matches(place[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        return f"{where}: unknown key, {hint}"
    if error["type"] == "missing":
        return f"{where}: this key is required"
    if error["type"] == "string_pattern_mismatch":
        return f"{where}: not a slug; use small letters, digits and dashes (for example {_slug(place[-1])!r})"
    message = error["msg"].removeprefix("Value error, ")
    found = _value_at(raw, error["loc"])
    return f"{where}: {message}" + (f", found {_brief(found)}" if isinstance(found, str | int | float | bool) else "")


def _brief(value: Any) -> str:
    """A value on one line; Python writes out no number of more than 4,300 digits."""
    try:
        return f"{value!r:.200}"
    except ValueError:
        return "a number of thousands of digits"


def _slug(text: str) -> str:
    return "-".join(part for part in "".join(c if c.isalnum() else " " for c in text.lower()).split()) or "my-model"


def _importers() -> list[str]:
    from vlmdx.config.datasets import Dataset

    return [get_args(cls.model_fields["importer"].annotation)[0] for cls in get_args(get_args(Dataset)[0])]


def _value_at(raw: Any, place: tuple) -> Any:
    for part in place:
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            if part not in _importers():
                return None
    return raw


def _keys_beside(place: list[str]) -> list[str]:
    """Known keys of the block in which ``place[-1]`` stands."""
    blocks: list[type[BaseModel]] = [Config]
    for part in place[:-1]:
        found = [block.model_fields[part].annotation for block in blocks if part in block.model_fields]
        blocks = [b for annotation in found for b in _blocks(annotation)] or blocks
    return sorted({key for block in blocks for key in block.model_fields})


def _blocks(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is None and annotation is not Union:
        return []
    return [block for argument in get_args(annotation) for block in _blocks(argument)]
