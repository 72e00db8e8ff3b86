# Figures of discovery (B).


rule plot_fdr:
    input:
        table=paths.FDR,
    output:
        svg=paths.figure("fdr", "svg"),
        png=report(
            paths.figure("fdr", "png"),
            caption="../resources/report/plot_fdr.rst",
            category="Discovery",
        ),
    log:
        "logs/plot_fdr/plot_fdr.log",
    benchmark:
        "results/benchmarks/plot_fdr/plot_fdr.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_fdr.digest,
        settings=lambda wc: JOBS.plot_fdr.settings,
    message:
        "Figure: methods of discovery compared"
    script:
        "../workflow/scripts/plot_fdr.py"


rule plot_taxonomy:
    input:
        taxonomy=paths.discovery("{run}", "taxonomy.json"),
    output:
        svg=paths.discovery("{run}", "taxonomy.svg"),
        png=report(
            paths.discovery("{run}", "taxonomy.png"),
            caption="../resources/report/plot_taxonomy.rst",
            category="Discovery",
            subcategory="{run}",
        ),
        page=report(
            paths.discovery("{run}", "taxonomy.html"),
            caption="../resources/report/taxonomy_page.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_taxonomy/{run}.log",
    benchmark:
        "results/benchmarks/plot_taxonomy/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_taxonomy", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_taxonomy", wc.run).settings,
    message:
        "Figure: taxonomy of {wildcards.run}"
    script:
        "../workflow/scripts/plot_taxonomy.py"


rule plot_failure_modes:
    input:
        failure_modes=paths.discovery("{run}", "failure_modes.csv"),
    output:
        svg=paths.discovery("{run}", "failure_modes.svg"),
        png=report(
            paths.discovery("{run}", "failure_modes.png"),
            caption="../resources/report/plot_failure_modes.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_failure_modes/{run}.log",
    benchmark:
        "results/benchmarks/plot_failure_modes/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_failure_modes", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_failure_modes", wc.run).settings,
    message:
        "Figure: failure modes of {wildcards.run}"
    script:
        "../workflow/scripts/plot_failure_modes.py"


rule plot_curriculum:
    input:
        curriculum=paths.discovery("{run}", "curriculum.csv"),
    output:
        svg=paths.discovery("{run}", "curriculum.svg"),
        png=report(
            paths.discovery("{run}", "curriculum.png"),
            caption="../resources/report/plot_curriculum.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_curriculum/{run}.log",
    benchmark:
        "results/benchmarks/plot_curriculum/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_curriculum", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_curriculum", wc.run).settings,
    message:
        "Figure: when skills were first exploited in {wildcards.run}"
    script:
        "../workflow/scripts/plot_curriculum.py"


rule plot_training:
    input:
        histories=histories,
    output:
        svg=paths.discovery("{run}", "training.svg"),
        png=report(
            paths.discovery("{run}", "training.png"),
            caption="../resources/report/plot_training.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_training/{run}.log",
    benchmark:
        "results/benchmarks/plot_training/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_training(wc.run).digest,
        settings=lambda wc: JOBS.plot_training(wc.run).settings,
    message:
        "Figure: training curves of {wildcards.run}"
    script:
        "../workflow/scripts/plot_training.py"
