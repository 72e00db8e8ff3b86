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


rule blind_control:
    input:
        rollouts=paths.discovery("{run}", "rollouts.parquet"),
        images=lambda wc: paths.images(DISCOVERY_RUNS[wc.run].dataset),
    output:
        answers=paths.discovery("{run}", "blind.parquet"),
        table=report(
            paths.discovery("{run}", "blind.csv"),
            caption="../resources/report/blind_control.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/blind_control/{run}.log",
    benchmark:
        "results/benchmarks/blind_control/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=24000,
        runtime=120,
    params:
        digest=lambda wc: JOBS.blind_control(wc.run).digest,
        settings=lambda wc: JOBS.blind_control(wc.run).settings,
    message:
        "Asking the questions of {wildcards.run} again without their images"
    script:
        "../workflow/scripts/blind_control.py"


rule agreement:
    input:
        unpack(judging_inputs),
    output:
        verdicts=paths.discovery("{run}", "second_opinions.parquet"),
        table=report(
            paths.discovery("{run}", "agreement.csv"),
            caption="../resources/report/agreement.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/agreement/{run}.log",
    benchmark:
        "results/benchmarks/agreement/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=24000,
        runtime=240,
    params:
        digest=lambda wc: JOBS.agreement(wc.run).digest,
        settings=lambda wc: JOBS.agreement(wc.run).settings,
    message:
        "Judging the held-out questions of {wildcards.run} a second time"
    script:
        "../workflow/scripts/agreement.py"


rule spot_check:
    input:
        rollouts=paths.discovery("{run}", "rollouts.parquet"),
        images=lambda wc: paths.images(DISCOVERY_RUNS[wc.run].dataset),
    output:
        folder=directory(paths.discovery("{run}", "spot_check")),
        png=report(
            paths.discovery("{run}", "spot_check.png"),
            caption="../resources/report/spot_check.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/spot_check/{run}.log",
    benchmark:
        "results/benchmarks/spot_check/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.spot_check(wc.run).digest,
        settings=lambda wc: JOBS.spot_check(wc.run).settings,
    message:
        "Laying out questions of {wildcards.run} for a person to judge"
    script:
        "../workflow/scripts/spot_check.py"


rule recompute_rewards:
    input:
        rollouts=paths.discovery("{run}", "rollouts.parquet"),
    output:
        paths.rewards("{run}", "{reward}"),
    log:
        "logs/recompute_rewards/{run}/{reward}.log",
    benchmark:
        "results/benchmarks/recompute_rewards/{run}/{reward}.tsv"
    wildcard_constraints:
        reward="|".join(CONFIG.discovery.rewards) or "no-reward",
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        digest=lambda wc: JOBS.recompute_rewards(wc.run, wc.reward).digest,
        settings=lambda wc: JOBS.recompute_rewards(wc.run, wc.reward).settings,
    message:
        "Grading the rollouts of {wildcards.run} under {wildcards.reward}"
    script:
        "../workflow/scripts/recompute_rewards.py"


rule discovery_accounting:
    input:
        rollouts=all_runs("rollouts.parquet"),
        primitives=all_runs("primitives.parquet"),
        skills=all_runs("skills.parquet"),
        blind=all_runs("blind.parquet"),
        second=twice_judged,
    output:
        report(
            paths.DISCOVERY_ACCOUNTING,
            caption="../resources/report/discovery_accounting.rst",
            category="Discovery",
        ),
    log:
        "logs/discovery_accounting/discovery_accounting.log",
    benchmark:
        "results/benchmarks/discovery_accounting/discovery_accounting.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        digest=lambda wc: JOBS.discovery_accounting.digest,
        settings=lambda wc: JOBS.discovery_accounting.settings,
    message:
        "Accounting for every question of discovery"
    script:
        "../workflow/scripts/discovery_accounting.py"


rule plot_fdr:
    input:
        table=paths.FDR,
    output:
        svg=paths.figure("fdr", "svg"),
        png=report(
            paths.figure("fdr", "png"),
            caption="../resources/report/plot_fdr.rst",
            category="Discovery",
        ),
    log:
        "logs/plot_fdr/plot_fdr.log",
    benchmark:
        "results/benchmarks/plot_fdr/plot_fdr.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_fdr.digest,
        settings=lambda wc: JOBS.plot_fdr.settings,
    message:
        "Figure: methods of discovery compared"
    script:
        "../workflow/scripts/plot_fdr.py"


rule plot_taxonomy:
    input:
        taxonomy=paths.discovery("{run}", "taxonomy.json"),
    output:
        svg=paths.discovery("{run}", "taxonomy.svg"),
        png=report(
            paths.discovery("{run}", "taxonomy.png"),
            caption="../resources/report/plot_taxonomy.rst",
            category="Discovery",
            subcategory="{run}",
        ),
        page=report(
            paths.discovery("{run}", "taxonomy.html"),
            caption="../resources/report/taxonomy_page.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_taxonomy/{run}.log",
    benchmark:
        "results/benchmarks/plot_taxonomy/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_taxonomy", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_taxonomy", wc.run).settings,
    message:
        "Figure: taxonomy of {wildcards.run}"
    script:
        "../workflow/scripts/plot_taxonomy.py"


rule plot_failure_modes:
    input:
        failure_modes=paths.discovery("{run}", "failure_modes.csv"),
    output:
        svg=paths.discovery("{run}", "failure_modes.svg"),
        png=report(
            paths.discovery("{run}", "failure_modes.png"),
            caption="../resources/report/plot_failure_modes.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_failure_modes/{run}.log",
    benchmark:
        "results/benchmarks/plot_failure_modes/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_failure_modes", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_failure_modes", wc.run).settings,
    message:
        "Figure: failure modes of {wildcards.run}"
    script:
        "../workflow/scripts/plot_failure_modes.py"


rule plot_curriculum:
    input:
        curriculum=paths.discovery("{run}", "curriculum.csv"),
    output:
        svg=paths.discovery("{run}", "curriculum.svg"),
        png=report(
            paths.discovery("{run}", "curriculum.png"),
            caption="../resources/report/plot_curriculum.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_curriculum/{run}.log",
    benchmark:
        "results/benchmarks/plot_curriculum/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_taxonomy("plot_curriculum", wc.run).digest,
        settings=lambda wc: JOBS.plot_taxonomy("plot_curriculum", wc.run).settings,
    message:
        "Figure: when skills were first exploited in {wildcards.run}"
    script:
        "../workflow/scripts/plot_curriculum.py"


rule plot_training:
    input:
        training=trainings,
    output:
        svg=paths.discovery("{run}", "training.svg"),
        png=report(
            paths.discovery("{run}", "training.png"),
            caption="../resources/report/plot_training.rst",
            category="Discovery",
            subcategory="{run}",
        ),
    log:
        "logs/plot_training/{run}.log",
    benchmark:
        "results/benchmarks/plot_training/{run}.tsv"
    conda:
        "../envs/vlmdx.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.plot_training(wc.run).digest,
        settings=lambda wc: JOBS.plot_training(wc.run).settings,
    message:
        "Figure: training curves of {wildcards.run}"
    script:
        "../workflow/scripts/plot_training.py"
