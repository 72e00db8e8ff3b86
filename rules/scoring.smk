rule score:
    input:
        unpack(score_inputs),
    output:
        paths.scores("{model}", "{itemset}", "{family}"),
    log:
        "logs/score/{model}/{itemset}/{family}.log",
    benchmark:
        "results/benchmarks/score/{model}/{itemset}/{family}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=16000,
        runtime=480,
    params:
        digest=lambda wc: JOBS.score(wc.model, wc.itemset, wc.family).digest,
        settings=lambda wc: JOBS.score(wc.model, wc.itemset, wc.family).settings,
    message:
        "Scoring {wildcards.model} on the {wildcards.itemset}: {wildcards.family}"
    script:
        "../workflow/scripts/score.py"


# A voter's bench scores are rows of its pool scores; nothing is computed again.
rule cut_bench:
    input:
        scores=all_shards(lambda family: paths.scores("{voter}", "pool", family)),
        selection=paths.selection("bench.parquet"),
    output:
        scores=all_shards(lambda family: paths.scores("{voter}", "bench", family)),
    log:
        "logs/cut_bench/{voter}.log",
    benchmark:
        "results/benchmarks/cut_bench/{voter}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.cut_bench(wc.voter).digest,
        settings=lambda wc: JOBS.cut_bench(wc.voter).settings,
    message:
        "Cutting the bench scores of voter {wildcards.voter} from its pool scores"
    script:
        "../workflow/scripts/cut_bench.py"


ruleorder: cut_bench > score


# Position bias (scoring.circular): the bench's options in all cyclic rotations are items of their own, scored by `score`.
rule rotate_bench:
    input:
        questions=paths.items("pool"),
        selection=paths.selection("bench.parquet"),
    output:
        questions=paths.selection("rotations.parquet"),
        rejected=paths.selection("rotations_rejected.parquet"),
    log:
        "logs/rotate_bench/rotate_bench.log",
    benchmark:
        "results/benchmarks/rotate_bench/rotate_bench.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=JOBS.rotate_bench.digest,
        settings=JOBS.rotate_bench.settings,
    message:
        "Turning the options of the bench round"
    script:
        "../workflow/scripts/rotate_bench.py"
