rule embed_pool:
    input:
        questions=paths.items("pool"),
        images=paths.corrupted("pool", CLEAN),
    output:
        paths.selection("embeddings.safetensors"),
    log:
        "logs/embed_pool/embed_pool.log",
    benchmark:
        "results/benchmarks/embed_pool/embed_pool.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        gpu=1,
        mem_mb=8000,
        runtime=60,
    params:
        digest=JOBS.embed_pool.digest,
        settings=JOBS.embed_pool.settings,
    message:
        "Embedding images and texts of the pool"
    script:
        "../workflow/scripts/embed_pool.py"


rule select_bench:
    input:
        questions=paths.items("pool"),
        embeddings=paths.selection("embeddings.safetensors"),
        scores=[paths.scores(voter, "pool", family) for voter in CONFIG.voters for family in JOBS.shards()],
    output:
        selection=paths.selection("bench.parquet"),
        gini=paths.selection("gini.parquet"),
        ids=paths.selection("bench.txt"),
    log:
        "logs/select_bench/select_bench.log",
    benchmark:
        "results/benchmarks/select_bench/select_bench.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=JOBS.select_bench.digest,
        settings=JOBS.select_bench.settings,
    message:
        "Selecting the bench from the answers of the voters"
    script:
        "../workflow/scripts/select_bench.py"
