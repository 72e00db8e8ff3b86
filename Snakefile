"""vlmdx: why does a vision-language model fail? Rules stand in rules/, one file per stage."""

from snakemake.utils import min_version

min_version("9.0")


include: "rules/common.smk"
include: "rules/demo.smk"
include: "rules/datasets.smk"
include: "rules/corruption.smk"
include: "rules/scoring.smk"
include: "rules/selection.smk"
include: "rules/reliability.smk"
include: "rules/mechanism.smk"
include: "rules/vsr.smk"
include: "rules/mechanism_figures.smk"
include: "rules/discovery_inputs.smk"
include: "rules/discovery.smk"
include: "rules/discovery_controls.smk"
include: "rules/discovery_figures.smk"
include: "rules/joint.smk"
include: "rules/report.smk"
include: "rules/provenance.smk"


if workflow.is_main_process and not workflow.dryrun and clear_stale_lock(Path.cwd()):
    print("The lock of an earlier run, whose process is gone, was cleared.", file=sys.stderr)


# Hooks run in the main process of a real run: not in a dry run, not in a job.
onstart:
    refuse_beside_orphans(Path.cwd())
    keep_parts({digest: job.parts for digest, job in JOBS.known.items()})
    write_resolved(JOBS.config.model_dump(), workflow.overwrite_configfiles)


onsuccess:
    keep_parts({digest: job.parts for digest, job in JOBS.known.items()})


onerror:
    keep_parts({digest: job.parts for digest, job in JOBS.known.items()})


rule all:
    default_target: True
    input:
        paths.TABLE,
        FIGURES,
    localrule: True
