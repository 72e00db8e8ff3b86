"""What is wrong with a config that its own text cannot tell: files, folders and libraries that it names."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from vlmdx.config.datasets import SOURCES
from vlmdx.config.job import adapter_modules
from vlmdx.config.models import Model
from vlmdx.config.pins import pinned, unpinned
from vlmdx.config.root import Config


def faults(config: Config, here: Callable[[str], str]) -> list[str]:
    """What only the file system can tell, one line each: a model that cannot be found or has no adapter, a prompt."""
    config = pinned(config, here)
    lines = unpinned(config, here)
    entries = {f"models.{slug}": entry for slug, entry in config.models.items()}
    if config.discovery.runs:
        policy = config.discovery.questioner
        entries["discovery.questioner"] = Model(source=policy.source, revision=policy.revision)
    for key, entry in entries.items():
        try:
            adapter_modules(entry, Path(here(entry.source)))
        except (ValueError, OSError, KeyError) as error:
            lines.append(f"config: {key}: {error}")
    if config.scoring.circular and all(entry.readout == "text" for entry in config.models.values()):
        lines.append(
            "config: scoring.circular: no model has the letter read-out, so no options are shown that can turn"
        )
    if config.mechanism.dataset and config.mechanism.engine == "bridge" and not find_spec("transformer_lens"):
        lines.append("config: mechanism.engine: bridge needs transformer-lens; install it, or use `reference`")
    for key, name in _prompts(config).items():
        if not os.path.isfile(here(name)):  # noqa: PTH113 -- as in `here`
            lines.append(f"config: {key}: no file {name!r}")
            continue
        try:
            Path(here(name)).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            lines.append(f"config: {key}: {name!r} is no UTF-8 text ({error})")
    for slug, dataset in config.datasets.items():
        paths_ = {key: value for key, value in dataset.model_dump().items() if key in SOURCES and value}
        lines += [f"config: datasets.{slug}.{key}: {said}" for key, path in paths_.items() if (said := _no_path(path))]
    return lines


def _prompts(config: Config) -> dict[str, str]:
    """Prompt files by key of the config, those of discovery only where it has runs."""
    found = {f"scoring.{key}": getattr(config.scoring, key) for key in ("letter_prompt", "text_prompt")}
    if config.discovery.runs:
        found |= {f"discovery.prompts.{key}": name for key, name in config.discovery.prompts.model_dump().items()}
    return found


def _no_path(path: str) -> str | None:
    """Why no file system or rule can hold ``path``; a file that is merely absent is named by Snakemake."""
    if "{" in path or "}" in path:
        return f"{path!r}: Snakemake takes what stands in braces for a wildcard; rename the file or link to it"
    try:
        Path(path).stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return f"{path!r:.200} cannot be a path ({getattr(error, 'strerror', None) or error})"
    return None
