# Where inside a model an operation fails (C). One job per model and operation, so that a new model or a new operation
# runs what is new and nothing else.
MECHANISM_FIGURES = [
    f"{name}.{suffix}"
    for name in ["layer_curves", "effect_heatmaps", "effect_forest", "overlays", "probing"]
    for suffix in ("svg", "png")
]
VSR_FIGURES = [f"{name}.{suffix}" for name in ("vsr", "overlays") for suffix in ("svg", "png")]


rule mechanism:
    input:
        mechanism_targets,
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
        asked=paths.operation_effects("{model}", "{dataset}", "{operation}", "asked.parquet"),
        tensors=paths.operation_effects("{model}", "{dataset}", "{operation}", "tensors.safetensors"),
    log:
        "logs/effects/{model}/{dataset}/{operation}.log",
    benchmark:
        "results/benchmarks/effects/{model}/{dataset}/{operation}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
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
        asked=all_operations("asked.parquet"),
        questions=paths.items("{dataset}"),
    output:
        sampling=paths.mechanism("{model}", "{dataset}", "sampling.csv"),
        pathways=paths.mechanism("{model}", "{dataset}", "pathways.csv"),
        failure_modes=paths.mechanism("{model}", "{dataset}", "failure_modes.csv"),
        sensitivity=paths.mechanism("{model}", "{dataset}", "sensitivity.csv"),
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


rule word_pairs:
    input:
        questions=paths.operation_sample("{dataset}", "{operation}", "items.parquet"),
    output:
        pairs=paths.operation_sample("{dataset}", "{operation}", "pairs.parquet"),
        unpaired=paths.operation_sample("{dataset}", "{operation}", "unpaired.parquet"),
    log:
        "logs/word_pairs/{dataset}/{operation}.log",
    benchmark:
        "results/benchmarks/word_pairs/{dataset}/{operation}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.word_pairs(wc.dataset, wc.operation).digest,
        settings=lambda wc: JOBS.word_pairs(wc.dataset, wc.operation).settings,
    message:
        "Changing words in questions of operation {wildcards.operation} from {wildcards.dataset}"
    script:
        "../workflow/scripts/word_pairs.py"


rule probe:
    input:
        pairs=paths.operation_sample("{dataset}", "{operation}", "pairs.parquet"),
        questions=paths.operation_sample("{dataset}", "{operation}", "items.parquet"),
        images=paths.images("{dataset}"),
    output:
        probes=paths.operation_effects("{model}", "{dataset}", "{operation}", "probes.parquet"),
        unprobed=paths.operation_effects("{model}", "{dataset}", "{operation}", "unprobed.parquet"),
    log:
        "logs/probe/{model}/{dataset}/{operation}.log",
    benchmark:
        "results/benchmarks/probe/{model}/{dataset}/{operation}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=16000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.probe(wc.model, wc.dataset, wc.operation).digest,
        settings=lambda wc: JOBS.probe(wc.model, wc.dataset, wc.operation).settings,
    message:
        "Probing the layers of {wildcards.model} on {wildcards.operation}"
    script:
        "../workflow/scripts/probe.py"


rule probing:
    input:
        probes=all_operations("probes.parquet"),
    output:
        paths.mechanism("{model}", "{dataset}", "probing.csv"),
    log:
        "logs/probing/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/probing/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.probing(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.probing(wc.model, wc.dataset).settings,
    message:
        "Weighing the probes of {wildcards.model}"
    script:
        "../workflow/scripts/probing.py"


rule mechanism_tables:
    input:
        failure_modes=all_dissected("failure_modes.csv"),
        sensitivity=all_dissected("sensitivity.csv"),
        pathways=all_dissected("pathways.csv"),
        sampling=all_dissected("sampling.csv"),
        probing=all_dissected("probing.csv"),
    output:
        failure_modes=report(paths.FAILURE_MODES, caption="../resources/report/failure_modes.rst", category="Mechanism"),
        sensitivity=report(paths.SENSITIVITY, caption="../resources/report/sensitivity.rst", category="Mechanism"),
        pathways=report(paths.PATHWAYS, caption="../resources/report/pathways.rst", category="Mechanism"),
        sampling=report(paths.SAMPLING, caption="../resources/report/sampling.rst", category="Mechanism"),
        probing=report(paths.PROBING, caption="../resources/report/probing.rst", category="Mechanism"),
    log:
        "logs/mechanism_tables/mechanism_tables.log",
    benchmark:
        "results/benchmarks/mechanism_tables/mechanism_tables.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.mechanism_tables.digest,
        settings=lambda wc: JOBS.mechanism_tables.settings,
    message:
        "Writing the mechanism tables of all models"
    script:
        "../workflow/scripts/mechanism_tables.py"


rule mechanism_accounting:
    input:
        unpack(mechanism_counts),
    output:
        report(paths.MECHANISM_ACCOUNTING, caption="../resources/report/mechanism_accounting.rst", category="Mechanism"),
    log:
        "logs/mechanism_accounting/mechanism_accounting.log",
    benchmark:
        "results/benchmarks/mechanism_accounting/mechanism_accounting.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.mechanism_accounting.digest,
        settings=lambda wc: JOBS.mechanism_accounting.settings,
    message:
        "Accounting for every item of the mechanism"
    script:
        "../workflow/scripts/mechanism_accounting.py"
