# VSR's statements through the same interventions (C): on the subject, the object, and both.


rule vsr_effects:
    input:
        questions=paths.items("{dataset}"),
        images=paths.images("{dataset}"),
    output:
        effects=paths.vsr("{model}", "{dataset}", "effects.parquet"),
        control=paths.vsr("{model}", "{dataset}", "control.parquet"),
        rejected=paths.vsr("{model}", "{dataset}", "rejected.parquet"),
        tensors=paths.vsr("{model}", "{dataset}", "tensors.safetensors"),
    log:
        "logs/vsr_effects/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/vsr_effects/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=16000,
        runtime=720,
    params:
        digest=lambda wc: JOBS.vsr_effects(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.vsr_effects(wc.model, wc.dataset).settings,
    message:
        "Dissecting {wildcards.model} on the statements of {wildcards.dataset}"
    script:
        "../workflow/scripts/vsr_effects.py"


rule vsr_pathways:
    input:
        effects=paths.vsr("{model}", "{dataset}", "effects.parquet"),
        control=paths.vsr("{model}", "{dataset}", "control.parquet"),
        questions=paths.items("{dataset}"),
    output:
        paths.vsr("{model}", "{dataset}", "vsr.csv"),
    log:
        "logs/vsr_pathways/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/vsr_pathways/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.vsr_pathways(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.vsr_pathways(wc.model, wc.dataset).settings,
    message:
        "Contrasting the effects of {wildcards.model} on the statements of {wildcards.dataset}"
    script:
        "../workflow/scripts/vsr_pathways.py"


rule vsr_table:
    input:
        vsr_files,
    output:
        report(paths.VSR, caption="../resources/report/vsr.rst", category="Mechanism"),
    log:
        "logs/vsr_table/vsr_table.log",
    benchmark:
        "results/benchmarks/vsr_table/vsr_table.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.vsr_table.digest,
        settings=lambda wc: JOBS.vsr_table.settings,
    message:
        "Writing the table of VSR of all models"
    script:
        "../workflow/scripts/vsr_table.py"


rule plot_vsr:
    input:
        vsr=paths.vsr("{model}", "{dataset}", "vsr.csv"),
    output:
        svg=paths.vsr("{model}", "{dataset}", "vsr.svg"),
        png=report(
            paths.vsr("{model}", "{dataset}", "vsr.png"),
            caption="../resources/report/plot_vsr.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_vsr/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_vsr/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_vsr(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_vsr(wc.model, wc.dataset).settings,
    message:
        "Drawing the contrasts of {wildcards.model} by relation category"
    script:
        "../workflow/scripts/plot_vsr.py"


rule plot_vsr_overlays:
    input:
        effects=paths.vsr("{model}", "{dataset}", "effects.parquet"),
        questions=paths.items("{dataset}"),
        images=paths.images("{dataset}"),
    output:
        svg=paths.vsr("{model}", "{dataset}", "overlays.svg"),
        png=report(
            paths.vsr("{model}", "{dataset}", "overlays.png"),
            caption="../resources/report/plot_vsr_overlays.rst",
            category="Mechanism",
            subcategory="{model}",
        ),
    log:
        "logs/plot_vsr_overlays/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/plot_vsr_overlays/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=8000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.plot_vsr_overlays(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.plot_vsr_overlays(wc.model, wc.dataset).settings,
    message:
        "Drawing subject, object and effects of {wildcards.model} on photos"
    script:
        "../workflow/scripts/plot_vsr_overlays.py"
