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
        digest=lambda wc: digest("corrupt", settings.corrupt(CONFIG, wc.family), CORRUPTING),
        settings=lambda wc: settings.corrupt(CONFIG, wc.family),
    message:
        "Corrupting the images of {wildcards.dataset}: {wildcards.family}"
    script:
        "../workflow/scripts/corrupt.py"
