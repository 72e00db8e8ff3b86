"""The part of the config that each rule's job reads, as plain JSON-able dicts.

A job gets these and never the whole config, so that a change elsewhere in the file leaves its digest alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vlmdx.config.root import Config
from vlmdx.schema.names import CLEAN, FAMILIES

Resolve = Callable[[str], str]  # a path of the config file -> the same path seen from the working directory


def families(config: Config) -> dict[str, list[str]]:
    """Configured corruptions by family, without families that lost all of theirs, in the order of FAMILIES."""
    chosen = {name: [c for c in members if c in config.corruptions.names] for name, members in FAMILIES.items()}
    return {name: members for name, members in chosen.items() if members}


def shards(config: Config) -> list[str]:
    """Shards of one item set: clean, then each configured family."""
    return [CLEAN, *families(config)]


def import_dataset(config: Config, dataset: str, resolve: Resolve) -> dict[str, Any]:
    """Settings of rule import_dataset."""
    options = config.datasets[dataset].model_dump(exclude={"importer"})
    options = {key: resolve(value) if value and key in PATHS else value for key, value in options.items()}
    return {
        "importer": config.datasets[dataset].importer,
        "options": options,
        "seed": config.seed,
        "max_pixels": config.images.max_pixels,
    }


# Keys of a data set entry that name a file or folder.
PATHS = {"questions", "scene_graphs", "images", "folder", "file", "instances_file", "categories"}


def pool(config: Config) -> dict[str, Any]:
    """Settings of rule pool."""
    return {"datasets": list(config.pool.quotas), "quotas": dict(config.pool.quotas), "seed": config.seed}


def corrupt(config: Config, family: str) -> dict[str, Any]:
    """Settings of rule corrupt."""
    return {
        "corruptions": families(config).get(family, []),
        "severities": [] if family == CLEAN else config.corruptions.severities,
        "seed": config.seed,
        "reference_side": config.corruptions.reference_side,
    }


def score(config: Config, model: str, resolve: Resolve, prompt: Callable[[str], str]) -> dict[str, Any]:
    """Settings of rule score; ``prompt`` reads a prompt file, whose text itself is a setting."""
    entry = config.models[model]
    template = config.scoring.letter_prompt if entry.readout == "letter" else config.scoring.text_prompt
    return {
        **entry.model_dump(),
        "source": resolve(entry.source),
        "device": config.scoring.device,
        "template": prompt(template),
    }


def embed_pool(config: Config, resolve: Resolve) -> dict[str, Any]:
    """Settings of rule embed_pool."""
    chosen = config.selection.model_dump(include={"image_encoder", "image_revision", "text_encoder", "text_revision"})
    return {**chosen, "image_encoder": resolve(chosen["image_encoder"])}


def select_bench(config: Config) -> dict[str, Any]:
    """Settings of rule select_bench."""
    chosen = config.selection.model_dump(include={"target", "weight_gini", "weight_image", "max_similarity"})
    return {**chosen, "severities": config.corruptions.severities}


def reliability(config: Config) -> dict[str, Any]:
    """Settings of rule reliability."""
    return {
        **config.reliability.model_dump(),
        "seed": config.seed,
        "families": families(config),
        "severities": config.corruptions.severities,
    }


def ras_table(config: Config) -> dict[str, Any]:
    """Settings of rule ras_table."""
    return {"models": list(config.models), "families": families(config)}


def demo_scenes(config: Config) -> dict[str, Any]:
    """Settings of rule demo_scenes."""
    return {**config.demo.model_dump(), "seed": config.seed}


def unpinned(config: Config, is_folder: Callable[[Path], bool], resolve: Resolve) -> list[str]:
    """One line for each model that is neither a local folder nor a hub id with a revision."""
    return [
        f"config: models.{slug}: {entry.source!r} is no folder here, and as a hub id it needs a `revision` (a commit)"
        for slug, entry in config.models.items()
        if entry.revision is None and not is_folder(Path(resolve(entry.source)))
    ]
