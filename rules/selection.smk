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
        mem_mb=8000,
        runtime=60,
    params:
        digest=embed_digest,
        settings=settings.embed_pool(CONFIG, here),
    message:
        "Embedding images and texts of the pool"
    script:
        "../workflow/scripts/embed_pool.py"


rule select_bench:
    input:
        questions=paths.items("pool"),
        embeddings=paths.selection("embeddings.safetensors"),
        scores=[paths.scores(voter, "pool", family) for voter in CONFIG.voters for family in SHARDS],
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
        digest=digest("select_bench", settings.select_bench(CONFIG), TABLES),
        settings=settings.select_bench(CONFIG),
    message:
        "Selecting the bench from the answers of the voters"
    script:
        "../workflow/scripts/select_bench.py"
