CIRCULAR_MODELS = JOBS.circular_models()


rule reliability:
    input:
        scores=all_shards(lambda family: paths.scores("{model}", "bench", family)),
        questions=paths.items("pool"),
        selection=paths.selection("bench.parquet"),
    output:
        cells=paths.reliability("{model}", "cells"),
        trajectories=paths.reliability("{model}", "trajectories"),
        summary=paths.reliability("{model}", "summary"),
        position=paths.reliability("{model}", "position"),
        set_aside=paths.reliability("{model}", "set_aside"),
    log:
        "logs/reliability/{model}.log",
    benchmark:
        "results/benchmarks/reliability/{model}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.reliability(wc.model).digest,
        settings=lambda wc: JOBS.reliability(wc.model).settings,
    message:
        "Reliability of {wildcards.model}"
    script:
        "../workflow/scripts/reliability.py"


rule ras_table:
    input:
        summaries=all_models("summary"),
        positions=all_models("position"),
        # Companions of the table: not read here, but made for whoever asks for the table alone.
        beside=[paths.ACCOUNTING, *([paths.CIRCULAR] if CIRCULAR_MODELS else [])],
    output:
        table=report(paths.TABLE, caption="../resources/report/ras_table.rst", category="Reliability"),
        by_severity=report(paths.BY_SEVERITY, caption="../resources/report/ras_by_severity.rst", category="Reliability"),
        by_corruption=report(
            paths.BY_CORRUPTION, caption="../resources/report/ras_by_corruption.rst", category="Reliability"
        ),
        position_bias=report(
            paths.POSITION_BIAS, caption="../resources/report/position_bias.rst", category="Reliability"
        ),
    log:
        "logs/ras_table/ras_table.log",
    benchmark:
        "results/benchmarks/ras_table/ras_table.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=JOBS.ras_table.digest,
        settings=JOBS.ras_table.settings,
    message:
        "Writing the tables of {MODELS}"
    script:
        "../workflow/scripts/ras_table.py"


# Rows in = rows out + rows set aside, for every stage; a file that lost a row stops the run.
rule accounting:
    input:
        questions=[paths.items(dataset) for dataset in CONFIG.pool.quotas],
        rejected=[paths.rejected(dataset) for dataset in CONFIG.pool.quotas],
        pool=paths.items("pool"),
        pool_images=paths.images("pool"),
        pool_rejected=paths.rejected("pool"),
        corrupted=all_shards(lambda family: paths.corrupted("pool", family)),
        votes=[paths.scores(voter, "pool", family) for voter in CONFIG.voters for family in JOBS.shards()],
        gini=paths.selection("gini.parquet"),
        selection=paths.selection("bench.parquet"),
        scores=[paths.scores(model, "bench", family) for model in MODELS for family in JOBS.shards()],
        cells=all_models("cells"),
        set_aside=all_models("set_aside"),
        rotated=[paths.selection("rotations.parquet")] if CIRCULAR_MODELS else [],
        left_out=[paths.selection("rotations_rejected.parquet")] if CIRCULAR_MODELS else [],
        circular=[paths.scores(model, "circular", CLEAN) for model in CIRCULAR_MODELS],
    output:
        report(paths.ACCOUNTING, caption="../resources/report/accounting.rst", category="Accounting"),
    log:
        "logs/accounting/accounting.log",
    benchmark:
        "results/benchmarks/accounting/accounting.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        digest=JOBS.accounting.digest,
        settings=JOBS.accounting.settings,
    message:
        "Accounting for every row"
    script:
        "../workflow/scripts/accounting.py"


rule circular:
    input:
        questions=paths.items("pool"),
        rotated=paths.selection("rotations.parquet"),
        left_out=paths.selection("rotations_rejected.parquet"),
        plain=[paths.scores(model, "bench", CLEAN) for model in CIRCULAR_MODELS],
        scores=[paths.scores(model, "circular", CLEAN) for model in CIRCULAR_MODELS],
    output:
        report(paths.CIRCULAR, caption="../resources/report/circular.rst", category="Reliability"),
    log:
        "logs/circular/circular.log",
    benchmark:
        "results/benchmarks/circular/circular.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=JOBS.circular.digest,
        settings=JOBS.circular.settings,
    message:
        "Position bias of {CIRCULAR_MODELS}"
    script:
        "../workflow/scripts/circular.py"
