"""Validate the config, derive the wildcard constraints from it, and the functions that the rules share."""

import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "workflow"))

from snakemake.exceptions import WorkflowError

from vlmdx.config import ConfigError, load, paths
from vlmdx.config.files import read_config
from vlmdx.config.faults import faults
from vlmdx.config.jobs import DEMO_MODELS
from vlmdx.config.joint_jobs import PREFIX, JointJobs
from vlmdx.config.resolved import write_resolved
from vlmdx.provenance import share_package_path
from vlmdx.provenance.guard import refuse_beside_orphans
from vlmdx.provenance.lock import clear_stale_lock
from vlmdx.provenance.parts import keep_parts
from vlmdx.schema.names import CLEAN, FAMILIES

share_package_path()

try:
    # The embedded default is read here before Snakemake reads it, so that a slip in it is told with its line.
    for file in workflow.overwrite_configfiles or [ROOT / "config" / "config.yaml"]:
        read_config(Path(file))
except ConfigError as error:
    raise WorkflowError(str(error))

# A config file given on the command line stands alone; the embedded default is not merged into it.
if not workflow.overwrite_configfiles:

    configfile: ROOT / "config" / "config.yaml"


try:
    CONFIG = load(config)
    JOBS = JointJobs(CONFIG, ROOT)
    if found := faults(CONFIG, JOBS.here):
        raise ConfigError("\n".join(found))
except ConfigError as error:
    raise WorkflowError(str(error))

MODELS = list(CONFIG.models)
DISCOVERED = [slug for slug in CONFIG.datasets if slug.startswith(PREFIX)]  # scored as item sets of their own


wildcard_constraints:
    dataset="|".join([*CONFIG.datasets, "pool"]),
    model="|".join(MODELS),
    voter="|".join(CONFIG.voters),
    itemset="|".join(["pool", "bench", "circular", *DISCOVERED]),
    family="|".join([CLEAN, *FAMILIES]),
    operation="|".join(CONFIG.mechanism.operations),
    run="|".join(CONFIG.discovery.runs) or "no-run",
    method="|".join(CONFIG.discovery.methods),
    seed="[0-9]+",


def dataset_inputs(wildcards):
    """What the importer reads. External files are `ancient`: their content is in the digest, their times say nothing."""
    found = JOBS.inputs(wildcards.dataset).items()
    return {key: path if path.startswith("results/") else ancient(path) for key, path in found}


def score_inputs(wildcards):
    source = wildcards.itemset if wildcards.itemset in DISCOVERED else "pool"
    found = {"questions": paths.items(source), "corrupted": paths.corrupted(source, wildcards.family)}
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


def of_every_operation(name, models=False):
    """Files of all drawn operations of `mechanism.dataset`, or of every model's."""
    data, chosen = CONFIG.mechanism.dataset, CONFIG.mechanism.operations
    if models:
        return [paths.operation_effects(m, data, o, name) for m in JOBS.dissected() for o in chosen]
    return [paths.operation_sample(data, o, name) for o in chosen]


def all_vsr(*names):
    return [paths.vsr(m, CONFIG.mechanism.vsr, n) for m in JOBS.dissected() for n in names]


def vsr_files(wildcards):
    if CONFIG.mechanism.vsr is None:
        raise WorkflowError("config: mechanism.vsr: name a VSR data set with `instances_file` and `categories`")
    return all_vsr("vsr.csv")


def mechanism_targets(wildcards):
    """Everything that is configured of the mechanism."""
    chosen, found = CONFIG.mechanism, []
    if chosen.dataset is None and chosen.vsr is None:
        raise WorkflowError("config: mechanism.dataset: name a data set whose items have operations and boxes (GQA)")
    if chosen.dataset:
        found += [paths.FAILURE_MODES, paths.SENSITIVITY, paths.PATHWAYS, paths.SAMPLING, paths.PROBING]
        found += all_dissected(*MECHANISM_FIGURES)(wildcards)
    if chosen.vsr:
        found += [paths.VSR, *all_vsr(*VSR_FIGURES)]
    return [*found, paths.MECHANISM_ACCOUNTING]


def mechanism_counts(wildcards):
    """Every table of the mechanism whose rows are counted."""
    chosen, found = CONFIG.mechanism, {}
    if chosen.dataset:
        found |= {
            "asked": paths.items(chosen.dataset),
            "drawn": of_every_operation("items.parquet"),
            "undrawable": of_every_operation("rejected.parquet"),
            "pairs": of_every_operation("pairs.parquet"),
            "unpaired": of_every_operation("unpaired.parquet"),
            "effects": of_every_operation("effects.parquet", models=True),
            "undissected": of_every_operation("rejected.parquet", models=True),
            "probes": of_every_operation("probes.parquet", models=True),
            "unprobed": of_every_operation("unprobed.parquet", models=True),
        }
    if chosen.vsr:
        found["statements"] = paths.items(chosen.vsr)
        found |= {f"vsr_{name}": all_vsr(f"{name}.parquet") for name in ("effects", "rejected")}
    return found
