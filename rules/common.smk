"""Validate the config, derive the wildcard constraints from it, and the functions that the rules share."""

import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "workflow"))

import yaml
from snakemake.exceptions import WorkflowError

from vlmdx.config import ConfigError, load, paths
from vlmdx.config.files import repeated_keys
from vlmdx.config.jobs import DEMO_MODELS, faults
from vlmdx.config.mechanism_jobs import MechanismJobs
from vlmdx.provenance import share_package_path
from vlmdx.provenance.guard import refuse_beside_orphans
from vlmdx.provenance.lock import clear_stale_lock
from vlmdx.provenance.record import keep_parts
from vlmdx.schema import atomic
from vlmdx.schema.names import CLEAN, FAMILIES

share_package_path()

try:
    for file in workflow.overwrite_configfiles or [ROOT / "config" / "config.yaml"]:
        if found := repeated_keys(Path(file)):
            raise ConfigError("\n".join(found))
    CONFIG = load(config)
    JOBS = MechanismJobs(CONFIG, ROOT)
    if found := faults(CONFIG, JOBS.here):
        raise ConfigError("\n".join(found))
except ConfigError as error:
    raise WorkflowError(str(error))

MODELS = list(CONFIG.models)


wildcard_constraints:
    dataset="|".join([*CONFIG.datasets, "pool"]),
    model="|".join(MODELS),
    voter="|".join(CONFIG.voters),
    itemset="pool|bench|circular",
    family="|".join([CLEAN, *FAMILIES]),
    operation="|".join(CONFIG.mechanism.operations),


def dataset_inputs(wildcards):
    """What the importer reads. External files are `ancient`: their content is in the digest, their times say nothing."""
    found = JOBS.inputs(wildcards.dataset).items()
    return {key: path if path.startswith("results/") else ancient(path) for key, path in found}


def score_inputs(wildcards):
    found = {"questions": paths.items("pool"), "corrupted": paths.corrupted("pool", wildcards.family)}
    return found | ({"selection": paths.selection("bench.parquet")} if wildcards.itemset == "bench" else {})


def all_shards(path_of):
    return [path_of(family) for family in JOBS.shards()]


def all_models(table):
    return [paths.reliability(model, table) for model in MODELS]


def samples(wildcards):
    """Drawn questions of all operations."""
    return [
        paths.operation_sample("{dataset}", operation, "items.parquet") for operation in CONFIG.mechanism.operations
    ]


def all_operations(name):
    return [
        paths.operation_effects("{model}", "{dataset}", operation, name) for operation in CONFIG.mechanism.operations
    ]


def all_dissected(*names):
    """A function, since only this target needs `mechanism.dataset`; others plan without it."""

    def of_all_models(wildcards):
        if CONFIG.mechanism.dataset is None:
            raise WorkflowError(
                "config: mechanism.dataset: name a data set whose items have operations and boxes (GQA)"
            )
        return [paths.mechanism(m, CONFIG.mechanism.dataset, n) for m in JOBS.dissected() for n in names]

    return of_all_models
