rule reliability:
    input:
        scores=ancient(all_shards(lambda family: paths.scores("{model}", "bench", family))),
        questions=ancient(paths.items("pool")),
        selection=ancient(paths.selection("bench.parquet")),
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
        summaries=ancient(all_models("summary")),
        positions=ancient(all_models("position")),
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
