# Where the three diagnoses meet: the questions that a run discovered (B) are asked of every model, corrupted (A) and
# dissected (C). They are an ordinary data set, `discovered-{run}` of the importer jsonl.


rule joint:
    input:
        paths.JOINT,
        paths.TRANSFER,
        expand("results/figures/joint.{suffix}", suffix=("svg", "png")),
    localrule: True


rule export_discovered:
    input:
        unpack(transfer_inputs),
    output:
        questions=paths.discovery("{run}", "dataset/questions.jsonl"),
        images=directory(paths.discovery("{run}", "dataset/images")),
    log:
        "logs/export_discovered/{run}.log",
    benchmark:
        "results/benchmarks/export_discovered/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.export_discovered(wc.run).digest,
        settings=lambda wc: JOBS.export_discovered(wc.run).settings,
    message:
        "Writing the questions that {wildcards.run} discovered as a data set"
    script:
        "../workflow/scripts/export_discovered.py"


rule transfer:
    input:
        unpack(transfer_inputs),
    output:
        answers=paths.discovery("{run}", "transfer/{model}.parquet"),
    log:
        "logs/transfer/{run}/{model}.log",
    benchmark:
        "results/benchmarks/transfer/{run}/{model}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=16000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.transfer(wc.run, wc.model).digest,
        settings=lambda wc: JOBS.transfer(wc.run, wc.model).settings,
    message:
        "Asking {wildcards.model} what {wildcards.run} discovered"
    script:
        "../workflow/scripts/transfer.py"


rule transfer_table:
    input:
        answers=[paths.discovery(run, f"transfer/{model}.parquet") for run in DISCOVERY_RUNS for model in MODELS],
    output:
        table=report(paths.TRANSFER, caption="../resources/report/transfer.rst", category="Discovery"),
    log:
        "logs/transfer_table/transfer_table.log",
    benchmark:
        "results/benchmarks/transfer_table/transfer_table.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.transfer_table.digest,
        settings=lambda wc: JOBS.transfer_table.settings,
    message:
        "Writing which models fail at which discovered questions"
    script:
        "../workflow/scripts/transfer_table.py"


rule discovered_reliability:
    input:
        scores=all_shards(lambda family: paths.scores("{model}", "{dataset}", family)),
        questions=paths.items("{dataset}"),
    output:
        cells=paths.joint("{model}", "{dataset}", "cells.parquet"),
        set_aside=paths.joint("{model}", "{dataset}", "set_aside.parquet"),
    log:
        "logs/discovered_reliability/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/discovered_reliability/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.discovered_reliability(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.discovered_reliability(wc.model, wc.dataset).settings,
    message:
        "Reliability of {wildcards.model} on {wildcards.dataset}"
    script:
        "../workflow/scripts/discovered_reliability.py"


rule discovered_effects:
    input:
        questions=paths.items("{dataset}"),
        images=paths.images("{dataset}"),
    output:
        effects=paths.joint("{model}", "{dataset}", "effects.parquet"),
        rejected=paths.joint("{model}", "{dataset}", "rejected.parquet"),
    log:
        "logs/discovered_effects/{model}/{dataset}.log",
    benchmark:
        "results/benchmarks/discovered_effects/{model}/{dataset}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=16000,
        runtime=480,
    params:
        digest=lambda wc: JOBS.discovered_effects(wc.model, wc.dataset).digest,
        settings=lambda wc: JOBS.discovered_effects(wc.model, wc.dataset).settings,
    message:
        "Dissecting {wildcards.model} on {wildcards.dataset}"
    script:
        "../workflow/scripts/discovered_effects.py"


rule joint_table:
    input:
        unpack(discovered_parts),
    output:
        table=report(paths.JOINT, caption="../resources/report/joint.rst", category="Discovery"),
    log:
        "logs/joint_table/joint_table.log",
    benchmark:
        "results/benchmarks/joint_table/joint_table.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.joint_table.digest,
        settings=lambda wc: JOBS.joint_table.settings,
    message:
        "Joining discovered failures, their reliability and their pathways"
    script:
        "../workflow/scripts/joint_table.py"


rule plot_joint:
    input:
        table=paths.JOINT,
    output:
        svg=report("results/figures/joint.svg", caption="../resources/report/joint.rst", category="Discovery"),
        png="results/figures/joint.png",
    log:
        "logs/plot_joint/plot_joint.log",
    benchmark:
        "results/benchmarks/plot_joint/plot_joint.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_joint.digest,
        settings=lambda wc: JOBS.plot_joint.settings,
    message:
        "Drawing the joint table"
    script:
        "../workflow/scripts/plot_joint.py"
