"""The lock file of hub models: what `vlmdx fetch` found, and the config with it filled in.

A revision like `main` names another commit tomorrow. The lock holds the commit of every hub id of a config, by the
place where it stands there, and the model type, which tells the adapter before the job opens the model.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, StringConstraints, ValidationError

from vlmdx.config.base import Block
from vlmdx.config.discovery import Discovery, Questioner, Reward
from vlmdx.config.files import parse
from vlmdx.config.load import ConfigError
from vlmdx.config.models import Model
from vlmdx.config.root import Config
from vlmdx.schema import atomic

LOCK = "config/models.lock.yaml"
HEADER = "# Written by `vlmdx fetch`: commits of the models on the hub. Delete an entry to have it resolved anew.\n"
COMMIT = "[0-9a-f]{40}"
ENCODERS = {"selection.image_encoder": "image", "selection.text_encoder": "text"}  # place -> prefix of its keys
INSTALLED = "minilm"  # a text encoder that comes as a Python package


class Pin(Block):
    """One hub model."""

    source: str = Field(description="hub id")
    revision: Annotated[str, StringConstraints(pattern=f"^{COMMIT}$")] = Field(description="commit")
    model_type: str = Field(description="of its config.json")
    requested: str | None = Field(None, description="the branch or tag that the config names, if any")


@dataclass(frozen=True)
class HubModel:
    """A hub id that a config names, in the block that ``where`` leads to, with its revision under ``key``."""

    source: str
    revision: str | None
    trust_remote_code: bool = False
    encoder: bool = False
    where: tuple[str, ...] = ()
    key: str = "revision"

    @property
    def commit(self) -> str | None:
        """The revision, where it is a commit already."""
        return self.revision if self.revision and re.fullmatch(COMMIT, self.revision) else None


def hub_models(config: Config, here: Callable[[str], str]) -> dict[str, HubModel]:
    """Hub ids of ``config`` by place: a model's slug, or the key of whatever else is a model."""
    found = {slug: _model(entry, "models", slug) for slug, entry in config.models.items()}
    for place, prefix in ENCODERS.items():
        source, revision = (getattr(config.selection, f"{prefix}_{key}") for key in ("encoder", "revision"))
        found[place] = HubModel(source, revision, encoder=True, where=("selection",), key=f"{prefix}_revision")
    if config.discovery.runs:
        found |= _of_discovery(config.discovery)
    return {place: hub for place, hub in found.items() if hub.source != INSTALLED and not _is_folder(here(hub.source))}


def _model(entry: Model | Questioner, *where: str) -> HubModel:
    return HubModel(entry.source, entry.revision, entry.trust_remote_code, where=where)


def _of_discovery(chosen: Discovery) -> dict[str, HubModel]:
    """Questioner, verifiers and sentence encoders, under the keys that lead to them."""
    found = [_model(chosen.questioner, "discovery", "questioner")]
    for run, entry in chosen.runs.items():
        for name in ("verifier", "second_verifier"):
            if isinstance(verifier := getattr(entry, name), Model):
                found.append(_model(verifier, "discovery", "runs", run, name))
    rewards: dict[tuple[str, ...], Reward] = {("reward",): chosen.reward}
    rewards |= {("rewards", slug): entry for slug, entry in chosen.rewards.items()}
    for keys, reward in rewards.items():
        where = ("discovery", *keys)
        found.append(HubModel(reward.encoder, reward.encoder_revision, False, True, where, "encoder_revision"))
    return {".".join([*hub.where, *(["encoder"] if hub.encoder else [])]): hub for hub in found}


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 -- Path.is_dir raises where a name is too long


def read_pins(path: Path) -> dict[str, Pin]:
    """The lock file's entries by place; none if there is no file.

    Raises:
        ConfigError: it is not what `vlmdx fetch` writes.
    """
    if not path.is_file():
        return {}
    remedy = "delete the file and run `vlmdx fetch`"
    try:
        return {place: Pin.model_validate(entry) for place, entry in (parse(path) or {}).items()}
    except (ConfigError, AttributeError) as error:
        raise ConfigError(f"{path}: not a lock file ({error}); {remedy}") from error
    except ValidationError as error:
        key = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(f"{path}: {key}: {error.errors()[0]['msg']}; {remedy}") from None


def write_pins(path: Path, pins: Mapping[str, Pin]) -> None:
    """Write entries into the lock file; those of other configs stay."""
    kept = {place: pin.model_dump(exclude_none=True) for place, pin in ({**read_pins(path), **pins}).items()}
    with atomic(path) as temporary:
        temporary.write_text(HEADER + yaml.safe_dump(kept, sort_keys=True), encoding="utf-8")


def pin_of(place: str, hub: HubModel, pins: Mapping[str, Pin]) -> Pin | None:
    """The entry for ``hub``, unless the config has moved on to another model or revision since."""
    pin = pins.get(place)
    return pin if pin and pin.source == hub.source and hub.revision in (pin.revision, pin.requested) else None


def pinned(config: Config, here: Callable[[str], str]) -> Config:
    """``config`` with the commits and model types of the lock file."""
    pins = read_pins(Path(here(LOCK)))
    for place, hub in hub_models(config, here).items():
        if pin := pin_of(place, hub, pins):
            config = _with(config, hub.where, hub.key, pin)
    return config


def _with(block: Any, where: Sequence[str], key: str, pin: Pin) -> Any:
    """``block`` with the pin in the block that ``where`` leads to."""
    if where:
        first, *rest = where
        if isinstance(block, Mapping):
            return {**block, first: _with(block[first], rest, key, pin)}
        return block.model_copy(update={first: _with(getattr(block, first), rest, key, pin)})
    family = {"family": block.family or pin.model_type} if isinstance(block, Model) else {}
    return block.model_copy(update={key: pin.revision, **family})


def unpinned(config: Config, here: Callable[[str], str]) -> list[str]:
    """One line for each hub id of a pinned config that still names no commit."""
    pins, lines = read_pins(Path(here(LOCK))), []
    for place, hub in hub_models(config, here).items():
        if hub.commit:
            continue
        where = f"config: {f'models.{place}' if hub.where[0] == 'models' else place}"
        if hub.revision:
            lines.append(f"{where}: revision {hub.revision!r} can move; run `vlmdx fetch`, or give its commit")
        elif place in pins and pins[place].source != hub.source:
            lines.append(f"{where}: {LOCK} holds {pins[place].source!r}, not {hub.source!r}; run `vlmdx fetch`")
        else:
            lines.append(
                f"{where}: {hub.source!r} is no folder; as a hub id it needs a `revision`: run `vlmdx fetch`, or give "
                "its commit"
            )
    return lines
