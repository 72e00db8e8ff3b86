# Where inside a model an operation fails (C). One job per model and operation, so that a new model or a new operation
# runs what is new and nothing else.
MECHANISM_FIGURES = [
    f"{name}.{suffix}"
    for name in ["layer_curves", "effect_heatmaps", "effect_forest", "overlays"]
    for suffix in ("svg", "png")
]


rule mechanism:
    input:
        paths.FAILURE_MODES,
        paths.PATHWAYS,
        all_dissected(*MECHANISM_FIGURES),
    localrule: True


rule sample_operations:
    input:
        questions=paths.items("{dataset}"),
    output:
        questions=paths.operation_sample("{dataset}", "{operation}", "items.parquet"),
        rejected=paths.operation_sample("{dataset}", "{operation}", "rejected.parquet"),
    log:
        "logs/sample_operations/{dataset}/{operation}.log",
    benchmark:
        "results/benchmarks/sample_operations/{dataset}/{operation}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.sample_operations(wc.dataset, wc.operation).digest,
        settings=lambda wc: JOBS.sample_operations(wc.dataset, wc.operation).settings,
    message:
        "Drawing questions of operation {wildcards.operation} from {wildcards.dataset}"
    script:
        "../workflow/scripts/sample_operations.py"


rule effects:
    input:
        questions=paths.operation_sample("{dataset}", "{operation}", "items.parquet"),
        images=paths.images("{dataset}"),
    output:
        effects=paths.operation_effects("{model}", "{dataset}", "{operation}", "effects.parquet"),
        control=paths.operation_effects("{model}", "{dataset}", "{operation}", "control.parquet"),
        rejected=paths.operation_effects("{model}", "{dataset}", "{operation}", "rejected.parquet"),
        tensors=paths.operation_effects("{model}", "{dataset}", "{operation}", "tensors.safetensors"),
    log:
        "logs/effects/{model}/{dataset}/{operation}.log",
    benchmark:
        "results/benchmarks/effects/{model}/{dataset}/{operation}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=16000,
        runtime=480,
    params:
        digest=lambda wc: JOBS.effects(wc.model, wc.dataset, wc.operation).digest,
        settings=lambda wc: JOBS.effects(wc.model, wc.dataset, wc.operation).settings,
    message:
        "Dissecting {wildcards.model} on {wildcards.operation}"
    script:
        "../workflow/scripts/effects.py"


rule join_effects:
    input:
        effects=all_operations("effects.parquet"),
        control=all_operations("control.parquet"),
        rejected=all_operations("rejected.parquet"),
        tensors=all_operations("tensors.safetensors"),
    output:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
        control=paths.mechanism("{model}", "{dataset}", "control.parquet"),
        rejected=paths.mechanism("{model}", "{dataset}", "rejected.parquet"),
        tensors=paths.mechanism("{model}", "{dataset}", "effects.safetensors"),
    log:
        "logs/join_effects/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/join_effects/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.join_effects(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.join_effects(wc.model, wc.dataset).settings,
    message:
        "Joining the effects of {wildcards.model} over all operations"
    script:
        "../workflow/scripts/join_effects.py"


rule pathways:
    input:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
        control=paths.mechanism("{model}", "{dataset}", "control.parquet"),
        questions=samples,
    output:
        pathways=paths.mechanism("{model}", "{dataset}", "pathways.csv"),
        failure_modes=paths.mechanism("{model}", "{dataset}", "failure_modes.csv"),
    log:
        "logs/pathways/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/pathways/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.pathways(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.pathways(wc.model, wc.dataset).settings,
    message:
        "Contrasting the effects of {wildcards.model} between right and wrong answers"
    script:
        "../workflow/scripts/pathways.py"


rule failure_modes:
    input:
        pathways=all_dissected("pathways.csv"),
        failure_modes=all_dissected("failure_modes.csv"),
    output:
        pathways=paths.PATHWAYS,
        failure_modes=paths.FAILURE_MODES,
    log:
        "logs/failure_modes/failure_modes.log",
    benchmark:
        "results/benchmarks/failure_modes/failure_modes.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.failure_modes.digest,
        settings=lambda wc: JOBS.failure_modes.settings,
    message:
        "Writing the failure modes of all models"
    script:
        "../workflow/scripts/failure_modes.py"


rule plot_layer_curves:
    input:
        effects=paths.mechanism("{model}", "{dataset}", "effects.parquet"),
        control=paths.mechanism("{model}", "{dataset}", "control.parquet"),
        questions=samples,
    output:
        svg=paths.mechanism("{model}", "{dataset}", "layer_curves.svg"),
        png=paths.mechanism("{model}", "{dataset}", "layer_curves.png"),
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
        png=paths.mechanism("{model}", "{dataset}", "effect_heatmaps.png"),
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
        png=paths.mechanism("{model}", "{dataset}", "effect_forest.png"),
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
        png=paths.mechanism("{model}", "{dataset}", "overlays.png"),
    log:
        "logs/plot_overlays/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_overlays/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_overlays(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_overlays(wc.model, wc.dataset).settings,
    message:
        "Drawing boxes, tokens and effects of {wildcards.model}"
    script:
        "../workflow/scripts/plot_overlays.py"
