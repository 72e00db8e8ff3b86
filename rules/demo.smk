# The demo world: scenes in GQA's format, and the two tiny VLMs that are trained on such scenes.
# Nothing here runs by default but `demo_scenes`: trained models ship in resources/models.


localrules:
    demo_models,


rule demo_scenes:
    output:
        questions=paths.demo_world("{world}", "questions.json"),
        graphs=paths.demo_world("{world}", "sceneGraphs.json"),
        images=directory(paths.demo_world("{world}", "images")),
    log:
        "logs/demo_scenes/{world}.log",
    benchmark:
        "results/benchmarks/demo_scenes/{world}.tsv"
    wildcard_constraints:
        world="|".join(paths.WORLDS),
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wc: JOBS.demo_scenes(wc.world).digest,
        settings=lambda wc: JOBS.demo_scenes(wc.world).settings,
    message:
        "Drawing the demo scenes of {wildcards.world} and asking about them"
    script:
        "../workflow/scripts/demo_scenes.py"


rule demo_model:
    input:
        letter=JOBS.here("resources/prompts/letter.txt"),
        text=JOBS.here("resources/prompts/text.txt"),
    output:
        model=directory("results/demo/models/{model}"),
        curve="results/demo/models/{model}.curve.csv",
        accuracy="results/demo/models/{model}.accuracy.csv",
    log:
        "logs/demo_model/{model}.log",
    benchmark:
        "results/benchmarks/demo_model/{model}.tsv"
    wildcard_constraints:
        model="|".join(DEMO_MODELS),
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=180,
    params:
        digest=JOBS.demo_model.digest,
        settings=JOBS.demo_model.settings,
    message:
        "Train {wildcards.model} on demo scenes"
    script:
        "../workflow/scripts/demo_model.py"


rule demo_models:
    input:
        curves=expand("results/demo/models/{model}.curve.csv", model=DEMO_MODELS),
        accuracies=expand("results/demo/models/{model}.accuracy.csv", model=DEMO_MODELS),
    output:
        figure="results/demo/demo-models.svg",
        table="results/demo/demo-models.md",
    log:
        "logs/demo_models.log",
    benchmark:
        "results/benchmarks/demo_models.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        digest=JOBS.demo_models.digest,
        settings=JOBS.demo_models.settings,
    message:
        "Show how the demo models learned"
    script:
        "../workflow/scripts/demo_models.py"


# The demo questioner starts from the shipped qwen-demo: it sees already, and learns to ask.
rule demo_questioner:
    input:
        questioner=JOBS.here("resources/prompts/questioner-demo.txt"),
        conme=JOBS.here("resources/prompts/conme-demo.txt"),
    output:
        model=directory("results/demo/models/questioner-demo"),
        curve="results/demo/models/questioner-demo.curve.csv",
    log:
        "logs/demo_questioner/demo_questioner.log",
    benchmark:
        "results/benchmarks/demo_questioner/demo_questioner.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        runtime=120,
    params:
        start=JOBS.here("resources/models/qwen-demo"),
        digest=JOBS.demo_questioner.digest,
        settings=JOBS.demo_questioner.settings,
    message:
        "Teach the demo questioner to ask"
    script:
        "../workflow/scripts/demo_questioner.py"


# An answerer that is neither always right nor always wrong, for the measurements of docs/discovery.md.
rule demo_pupil:
    input:
        letter=JOBS.here("resources/prompts/letter.txt"),
        text=JOBS.here("resources/prompts/text.txt"),
    output:
        model=directory("results/demo/models/pupil-demo"),
        curve="results/demo/models/pupil-demo.curve.csv",
        accuracy="results/demo/models/pupil-demo.accuracy.csv",
    log:
        "logs/demo_pupil/demo_pupil.log",
    benchmark:
        "results/benchmarks/demo_pupil/demo_pupil.tsv"
    conda:
        "../envs/vlmdx.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        start=JOBS.here("resources/models/qwen-demo"),
        digest=JOBS.demo_pupil.digest,
        settings=JOBS.demo_pupil.settings,
    message:
        "Half teach the demo's third answerer"
    script:
        "../workflow/scripts/demo_pupil.py"
