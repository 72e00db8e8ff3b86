"""vlmdx: why does a vision-language model fail? Rules stand in rules/, one file per stage."""

from snakemake.utils import min_version

min_version("9.0")

# A config file given on the command line stands alone; the embedded default is not merged into it.
if not workflow.overwrite_configfiles:

    configfile: f"{workflow.basedir}/config/config.yaml"


include: "rules/common.smk"
include: "rules/demo.smk"
include: "rules/datasets.smk"
include: "rules/corruption.smk"
include: "rules/scoring.smk"
include: "rules/selection.smk"
include: "rules/reliability.smk"
include: "rules/mechanism.smk"
include: "rules/report.smk"
include: "rules/provenance.smk"


if workflow.is_main_process and not workflow.dryrun and clear_stale_lock(Path.cwd()):
    print("The lock of an earlier run, whose process is gone, was cleared.", file=sys.stderr)


# Hooks run in the main process of a real run: not in a dry run, not in a job.
onstart:
    refuse_beside_orphans(Path.cwd())
    keep_parts({digest: job.parts for digest, job in JOBS.known.items()})
    with atomic(paths.RESOLVED_CONFIG) as temporary:
        temporary.write_text(yaml.safe_dump(JOBS.config.model_dump(), sort_keys=False))


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
