# Figures: one rule, one script, one caption each.
FIGURES = [
    paths.figure(name, suffix)
    for name in [
        "ras_by_family",
        "severity_trends",
        "state_shares",
        "accuracy_ras",
        "corruption_heatmap",
        "gini",
        "contact_sheet",
    ]
    for suffix in ("svg", "png")
]


rule plot_ras_by_family:
    input:
        summaries=all_models("summary"),
    output:
        svg=paths.figure("ras_by_family", "svg"),
        png=report(
            paths.figure("ras_by_family", "png"),
            caption="../resources/report/ras_by_family.rst",
            category="Reliability",
        ),
    log:
        "logs/plot_ras_by_family/plot_ras_by_family.log",
    benchmark:
        "results/benchmarks/plot_ras_by_family/plot_ras_by_family.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot("plot_ras_by_family").digest,
        settings=JOBS.plot("plot_ras_by_family").settings,
    message:
        "Figure: RAS by family and model"
    script:
        "../workflow/scripts/plot_ras_by_family.py"


rule plot_severity_trends:
    input:
        summaries=all_models("summary"),
    output:
        svg=paths.figure("severity_trends", "svg"),
        png=report(
            paths.figure("severity_trends", "png"),
            caption="../resources/report/severity_trends.rst",
            category="Reliability",
        ),
    log:
        "logs/plot_severity_trends/plot_severity_trends.log",
    benchmark:
        "results/benchmarks/plot_severity_trends/plot_severity_trends.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot("plot_severity_trends").digest,
        settings=JOBS.plot("plot_severity_trends").settings,
    message:
        "Figure: RAS by severity and source"
    script:
        "../workflow/scripts/plot_severity_trends.py"


rule plot_state_shares:
    input:
        summaries=all_models("summary"),
    output:
        svg=paths.figure("state_shares", "svg"),
        png=report(
            paths.figure("state_shares", "png"), caption="../resources/report/state_shares.rst", category="Reliability"
        ),
    log:
        "logs/plot_state_shares/plot_state_shares.log",
    benchmark:
        "results/benchmarks/plot_state_shares/plot_state_shares.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot("plot_state_shares").digest,
        settings=JOBS.plot("plot_state_shares").settings,
    message:
        "Figure: states by severity"
    script:
        "../workflow/scripts/plot_state_shares.py"


rule plot_accuracy_ras:
    input:
        summaries=all_models("summary"),
    output:
        svg=paths.figure("accuracy_ras", "svg"),
        png=report(
            paths.figure("accuracy_ras", "png"), caption="../resources/report/accuracy_ras.rst", category="Reliability"
        ),
    log:
        "logs/plot_accuracy_ras/plot_accuracy_ras.log",
    benchmark:
        "results/benchmarks/plot_accuracy_ras/plot_accuracy_ras.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot("plot_accuracy_ras").digest,
        settings=JOBS.plot("plot_accuracy_ras").settings,
    message:
        "Figure: accuracy against RAS"
    script:
        "../workflow/scripts/plot_accuracy_ras.py"


rule plot_corruption_heatmap:
    input:
        cells=all_models("cells"),
    output:
        svg=paths.figure("corruption_heatmap", "svg"),
        png=report(
            paths.figure("corruption_heatmap", "png"),
            caption="../resources/report/corruption_heatmap.rst",
            category="Reliability",
        ),
    log:
        "logs/plot_corruption_heatmap/plot_corruption_heatmap.log",
    benchmark:
        "results/benchmarks/plot_corruption_heatmap/plot_corruption_heatmap.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot("plot_corruption_heatmap").digest,
        settings=JOBS.plot("plot_corruption_heatmap").settings,
    message:
        "Figure: RAS by corruption"
    script:
        "../workflow/scripts/plot_corruption_heatmap.py"


rule plot_gini:
    input:
        gini=paths.selection("gini.parquet"),
        selection=paths.selection("bench.parquet"),
    output:
        svg=paths.figure("gini", "svg"),
        png=report(paths.figure("gini", "png"), caption="../resources/report/gini.rst", category="Selection"),
    log:
        "logs/plot_gini/plot_gini.log",
    benchmark:
        "results/benchmarks/plot_gini/plot_gini.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.plot_gini.digest,
        settings=JOBS.plot_gini.settings,
    message:
        "Figure: Gini impurity of the pool and the cut"
    script:
        "../workflow/scripts/plot_gini.py"


rule contact_sheet:
    input:
        corrupted=all_shards(lambda family: paths.corrupted("pool", family)),
    output:
        svg=paths.figure("contact_sheet", "svg"),
        png=report(
            paths.figure("contact_sheet", "png"),
            caption="../resources/report/contact_sheet.rst",
            category="Corruptions",
        ),
    log:
        "logs/contact_sheet/contact_sheet.log",
    benchmark:
        "results/benchmarks/contact_sheet/contact_sheet.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=JOBS.contact_sheet.digest,
        settings=JOBS.contact_sheet.settings,
    message:
        "Figure: one image under every corruption"
    script:
        "../workflow/scripts/contact_sheet.py"
