rule corrupt:
    input:
        images=paths.images("{dataset}"),
    output:
        paths.corrupted("{dataset}", "{family}"),
    log:
        "logs/corrupt/{dataset}/{family}.log",
    benchmark:
        "results/benchmarks/corrupt/{dataset}/{family}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.corrupt(wc.dataset, wc.family).digest,
        settings=lambda wc: JOBS.corrupt(wc.dataset, wc.family).settings,
    message:
        "Corrupting the images of {wildcards.dataset}: {wildcards.family}"
    script:
        "../workflow/scripts/corrupt.py"
