# Can what was discovered (B) be trusted: without the image, by a second verifier, by a person, under another reward.


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
