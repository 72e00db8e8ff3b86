# What a model cannot do (B): a questioner learns where a frozen answerer fails. One training job per run, method and
# seed; all methods ask the same number of questions about the same images.
rule discovery:
    input:
        discovery_targets,
    localrule: True


rule train_questioner:
    input:
        unpack(asked_inputs),
    output:
        training=paths.questioner("{run}", "{method}", "{seed}", "training.parquet"),
        checkpoint=directory(paths.questioner("{run}", "{method}", "{seed}", "checkpoint")),
        history=directory(paths.questioner("{run}", "{method}", "{seed}", "history")),
    log:
        "logs/train_questioner/{run}/{method}/{seed}.log",
    benchmark:
        "results/benchmarks/train_questioner/{run}/{method}/{seed}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
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
        gpu=1,
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


rule primitives:
    input:
        unpack(judging_inputs),
    output:
        paths.discovery("{run}", "primitives.parquet"),
    log:
        "logs/primitives/{run}.log",
    benchmark:
        "results/benchmarks/primitives/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=24000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.primitives(wc.run).digest,
        settings=lambda wc: JOBS.primitives(wc.run).settings,
    message:
        "Naming the abilities that questions of {wildcards.run} need"
    script:
        "../workflow/scripts/primitives.py"


rule vocabulary:
    input:
        primitives=all_runs("primitives.parquet"),
    output:
        vocabulary=paths.VOCABULARY,
        stability=paths.STABILITY,
    log:
        "logs/vocabulary/vocabulary.log",
    benchmark:
        "results/benchmarks/vocabulary/vocabulary.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        digest=lambda wc: JOBS.vocabulary.digest,
        settings=lambda wc: JOBS.vocabulary.settings,
    message:
        "Putting the abilities of all runs together into skills"
    script:
        "../workflow/scripts/vocabulary.py"


rule taxonomy:
    input:
        rollouts=paths.discovery("{run}", "rollouts.parquet"),
        primitives=paths.discovery("{run}", "primitives.parquet"),
        vocabulary=paths.VOCABULARY,
        stability=paths.STABILITY,
    output:
        taxonomy=paths.discovery("{run}", "taxonomy.json"),
        skills=paths.discovery("{run}", "skills.parquet"),
        failure_modes=report(
            paths.discovery("{run}", "failure_modes.csv"),
            caption="../resources/report/discovery_failure_modes.rst",
            category="Discovery",
            subcategory="{run}",
        ),
        curriculum=paths.discovery("{run}", "curriculum.csv"),
    log:
        "logs/taxonomy/{run}.log",
    benchmark:
        "results/benchmarks/taxonomy/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        digest=lambda wc: JOBS.taxonomy(wc.run).digest,
        settings=lambda wc: JOBS.taxonomy(wc.run).settings,
    message:
        "Sorting the questions of {wildcards.run} by skill"
    script:
        "../workflow/scripts/taxonomy.py"


rule shared_skills:
    input:
        failure_modes=all_runs("failure_modes.csv"),
    output:
        report(
            paths.SHARED_SKILLS,
            caption="../resources/report/shared_skills.rst",
            category="Discovery",
        ),
    log:
        "logs/shared_skills/shared_skills.log",
    benchmark:
        "results/benchmarks/shared_skills/shared_skills.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.shared_skills.digest,
        settings=lambda wc: JOBS.shared_skills.settings,
    message:
        "Comparing failure modes over all runs"
    script:
        "../workflow/scripts/shared_skills.py"


rule fdr_table:
    input:
        rollouts=all_runs("rollouts.parquet"),
        skills=all_runs("skills.parquet"),
    output:
        report(
            paths.FDR,
            caption="../resources/report/fdr_table.rst",
            category="Discovery",
        ),
    log:
        "logs/fdr_table/fdr_table.log",
    benchmark:
        "results/benchmarks/fdr_table/fdr_table.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        digest=lambda wc: JOBS.fdr_table.digest,
        settings=lambda wc: JOBS.fdr_table.settings,
    message:
        "Writing the table of failure discovery rates"
    script:
        "../workflow/scripts/fdr_table.py"
