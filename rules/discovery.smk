# What a model cannot do (B): a questioner learns where a frozen answerer fails. One training job per run, method and
# seed; all methods ask the same number of questions about the same images.
DISCOVERY_RUNS = CONFIG.discovery.runs


def asked_inputs(wildcards):
    """Images, and scene graphs where the oracle is the verifier."""
    dataset = DISCOVERY_RUNS[wildcards.run].dataset
    graphs = JOBS.scene_graphs(wildcards.run)
    found = {"images": paths.images(dataset)}
    if graphs is not None:
        found["graphs"] = graphs if graphs.startswith("results/") else ancient(graphs)
    return found


def held_out_inputs(wildcards):
    """Zero-shot learns nothing; the others bring their training, and what it made of the questioner."""
    if wildcards.method == "zero-shot":
        return asked_inputs(wildcards)
    return asked_inputs(wildcards) | {
        name: paths.questioner(wildcards.run, wildcards.method, wildcards.seed, path)
        for name, path in {"training": "training.parquet", "checkpoint": "checkpoint"}.items()
    }


def rollout_parts(wildcards):
    """Held-out and training rollouts of all methods and seeds."""
    return [
        paths.questioner("{run}", method, seed, name)
        for method in CONFIG.discovery.methods
        for seed in CONFIG.discovery.seeds
        for name in ("training.parquet", "held_out.parquet")
        if method != "zero-shot" or name == "held_out.parquet"
    ]


rule train_questioner:
    input:
        unpack(asked_inputs),
    output:
        training=paths.questioner("{run}", "{method}", "{seed}", "training.parquet"),
        checkpoint=directory(paths.questioner("{run}", "{method}", "{seed}", "checkpoint")),
    log:
        "logs/train_questioner/{run}/{method}/{seed}.log",
    benchmark:
        "results/benchmarks/train_questioner/{run}/{method}/{seed}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=24000,
        runtime=1440,
    params:
        digest=lambda wc: JOBS.train_questioner(wc.run).digest,
        settings=lambda wc: JOBS.train_questioner(wc.run).settings,
    message:
        "Training a questioner for {wildcards.run} by {wildcards.method}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/train_questioner.py"


rule ask_held_out:
    input:
        unpack(held_out_inputs),
    output:
        held_out=paths.questioner("{run}", "{method}", "{seed}", "held_out.parquet"),
    log:
        "logs/ask_held_out/{run}/{method}/{seed}.log",
    benchmark:
        "results/benchmarks/ask_held_out/{run}/{method}/{seed}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=24000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.ask_held_out(wc.run, wc.method).digest,
        settings=lambda wc: JOBS.ask_held_out(wc.run, wc.method).settings,
    message:
        "Asking held-out questions of {wildcards.run} by {wildcards.method}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/ask_held_out.py"


rule join_rollouts:
    input:
        parts=rollout_parts,
    output:
        rollouts=paths.discovery("{run}", "rollouts.parquet"),
    log:
        "logs/join_rollouts/{run}.log",
    benchmark:
        "results/benchmarks/join_rollouts/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.join_rollouts(wc.run).digest,
        settings=lambda wc: JOBS.join_rollouts(wc.run).settings,
    message:
        "Joining the rollouts of {wildcards.run}"
    script:
        "../workflow/scripts/join_rollouts.py"
