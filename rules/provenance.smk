# What is known of the run itself: the ledger of all artifacts, and the catalogue of its tables. Both tell of what
# stands when they are made, the mechanism included, so ask for them by a command of their own when the rest is done;
# `vlmdx query` writes them by itself. No benchmarks: for Snakemake these are outputs, and would be older than a ledger
# that `vlmdx query` wrote.
PLOTS = tuple(
    f"plot_{name}"
    for name in ["ras_by_family", "severity_trends", "state_shares", "accuracy_ras", "corruption_heatmap"]
)


rule provenance:
    input:
        paths.TABLE,
        FIGURES,
    output:
        "results/provenance.parquet",
    log:
        "logs/provenance/provenance.log",
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.about_all("provenance", PLOTS).digest,
        settings=lambda wc: JOBS.about_all("provenance", PLOTS).settings,
    message:
        "Gathering the records of all jobs"
    script:
        "../workflow/scripts/provenance.py"


rule catalog:
    input:
        paths.TABLE,
        "results/provenance.parquet",
    output:
        "results/catalog.sql",
    log:
        "logs/catalog/catalog.log",
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.about_all("catalog", PLOTS).digest,
        settings=lambda wc: JOBS.about_all("catalog", PLOTS).settings,
    message:
        "Writing the catalogue of all tables"
    script:
        "../workflow/scripts/catalog.py"
