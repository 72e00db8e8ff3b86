rule import_dataset:
    input:
        unpack(dataset_inputs),
    output:
        questions=paths.items("{dataset}"),
        images=paths.images("{dataset}"),
        rejected=paths.rejected("{dataset}"),
    log:
        "logs/import_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/import_dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset="|".join(CONFIG.datasets),
    conda:
        "../envs/vlmdx.yaml"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        digest=lambda wc: JOBS.import_dataset(wc.dataset).digest,
        settings=lambda wc: JOBS.import_dataset(wc.dataset).settings,
    message:
        "Importing data set {wildcards.dataset}"
    script:
        "../workflow/scripts/import_dataset.py"


rule pool:
    input:
        questions=[paths.items(dataset) for dataset in CONFIG.pool.quotas],
        images=[paths.images(dataset) for dataset in CONFIG.pool.quotas],
    output:
        questions=paths.items("pool"),
        images=paths.images("pool"),
        rejected=paths.rejected("pool"),
    log:
        "logs/pool/pool.log",
    benchmark:
        "results/benchmarks/pool/pool.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        digest=JOBS.pool.digest,
        settings=JOBS.pool.settings,
    message:
        "Drawing the pool of candidates"
    script:
        "../workflow/scripts/pool.py"
