# Figures of the mechanism (C).


rule plot_layer_curves:
    input:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
        control=paths.mechanism("{model}", "{dataset}", "control.parquet"),
        questions=samples,
    output:
        svg=paths.mechanism("{model}", "{dataset}", "layer_curves.svg"),
        png=report(
            paths.mechanism("{model}", "{dataset}", "layer_curves.png"),
            caption="../resources/report/plot_layer_curves.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_layer_curves/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_layer_curves/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_layer_curves(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_layer_curves(wc.model, wc.dataset).settings,
    message:
        "Drawing the layer curves of {wildcards.model}"
    script:
        "../workflow/scripts/plot_layer_curves.py"


rule plot_effect_heatmaps:
    input:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
    output:
        svg=paths.mechanism("{model}", "{dataset}", "effect_heatmaps.svg"),
        png=report(
            paths.mechanism("{model}", "{dataset}", "effect_heatmaps.png"),
            caption="../resources/report/plot_effect_heatmaps.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_effect_heatmaps/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_effect_heatmaps/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_effect_heatmaps(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_effect_heatmaps(wc.model, wc.dataset).settings,
    message:
        "Drawing the effect maps of {wildcards.model}"
    script:
        "../workflow/scripts/plot_effect_heatmaps.py"


rule plot_effect_forest:
    input:
        pathways=paths.mechanism("{model}", "{dataset}", "pathways.csv"),
    output:
        svg=paths.mechanism("{model}", "{dataset}", "effect_forest.svg"),
        png=report(
            paths.mechanism("{model}", "{dataset}", "effect_forest.png"),
            caption="../resources/report/plot_effect_forest.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_effect_forest/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_effect_forest/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_effect_forest(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_effect_forest(wc.model, wc.dataset).settings,
    message:
        "Drawing the contrasts of {wildcards.model}"
    script:
        "../workflow/scripts/plot_effect_forest.py"


rule plot_overlays:
    input:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
        failure_modes=paths.mechanism("{model}", "{dataset}", "failure_modes.csv"),
        questions=samples,
        images=paths.images("{dataset}"),
    output:
        svg=paths.mechanism("{model}", "{dataset}", "overlays.svg"),
        png=report(
            paths.mechanism("{model}", "{dataset}", "overlays.png"),
            caption="../resources/report/plot_overlays.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_overlays/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_overlays/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=8000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_overlays(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_overlays(wc.model, wc.dataset).settings,
    message:
        "Drawing boxes, tokens and effects of {wildcards.model}"
    script:
        "../workflow/scripts/plot_overlays.py"


rule plot_probing:
    input:
        probing=paths.mechanism("{model}", "{dataset}", "probing.csv"),
    output:
        svg=paths.mechanism("{model}", "{dataset}", "probing.svg"),
        png=report(
            paths.mechanism("{model}", "{dataset}", "probing.png"),
            caption="../resources/report/plot_probing.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_probing/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_probing/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_probing(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_probing(wc.model, wc.dataset).settings,
    message:
        "Drawing the probes of {wildcards.model}"
    script:
        "../workflow/scripts/plot_probing.py"
