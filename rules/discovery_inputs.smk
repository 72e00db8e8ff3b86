# What the rules of discovery.smk and joint.smk read, as functions of their wildcards.
DISCOVERY_RUNS = CONFIG.discovery.runs
LEARNERS = [method for method in CONFIG.discovery.methods if method in ("rl", "sft-rl")]  # those that log every step


def all_runs(*names):
    """A function, since only these rules need a run; others plan without one."""

    def of_all_runs(wildcards):
        if not DISCOVERY_RUNS:
            raise WorkflowError("config: discovery.runs: name an answerer, its data set and a verifier")
        return [paths.discovery(run, name) for name in names for run in DISCOVERY_RUNS]

    return of_all_runs


def discovery_targets(wildcards):
    """Everything that is configured of discovery."""
    names = ["taxonomy.json", "taxonomy.html", "failure_modes.csv", "curriculum.csv", "blind.csv"]
    names += ["spot_check", "spot_check.png"]
    drawn = ["taxonomy", "failure_modes", "curriculum", *(["training"] if LEARNERS else [])]
    found = all_runs(*names, *(f"{name}.{suffix}" for name in drawn for suffix in ("svg", "png")))(wildcards)
    found += [paths.discovery(run, "agreement.csv") for run in JOBS.twice_judged()]
    found += [paths.rewards(run, reward) for run in DISCOVERY_RUNS for reward in CONFIG.discovery.rewards]
    found += [paths.figure("fdr", suffix) for suffix in ("svg", "png")]
    return [*found, paths.FDR, paths.SHARED_SKILLS, paths.STABILITY, paths.DISCOVERY_ACCOUNTING]


def twice_judged(wildcards):
    return [paths.discovery(run, "second_opinions.parquet") for run in JOBS.twice_judged()]


def judging_inputs(wildcards):
    """Rollouts, beside what a verifier looks at."""
    return asked_inputs(wildcards) | {"rollouts": paths.discovery(wildcards.run, "rollouts.parquet")}


def histories(wildcards):
    """Logs of the trainings that log every step."""
    return [
        paths.questioner("{run}", method, seed, "history") for method in LEARNERS for seed in CONFIG.discovery.seeds
    ]


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


def transfer_inputs(wildcards):
    return asked_inputs(wildcards) | {"rollouts": paths.discovery("{run}", "rollouts.parquet")}


def discovered_parts(wildcards):
    """Everything that the joint table reads, by name."""
    runs, models = list(DISCOVERY_RUNS), JOBS.joined()
    if not runs:
        raise WorkflowError("config: discovery.runs: name an answerer under discovery")
    if missing := [f"discovered-{run}" for run in runs if f"discovered-{run}" not in CONFIG.datasets]:
        raise WorkflowError(
            f"config: datasets.{missing[0]} is missing; add it with `importer: jsonl`, `answer_form: text` and "
            f"`file: {paths.discovery(missing[0].removeprefix('discovered-'), 'dataset/questions.jsonl')}`"
        )
    both = [(run, model) for run in runs for model in models]
    return {
        "questions": [paths.items(f"discovered-{run}") for run in runs],
        "skills": [paths.discovery(run, "skills.parquet") for run in runs],
        "failure_modes": [paths.discovery(run, "failure_modes.csv") for run in runs],
        "transfer": [paths.discovery(run, f"transfer/{model}.parquet") for run, model in both],
        "cells": [paths.joint(model, f"discovered-{run}", "cells.parquet") for run, model in both],
        "effects": [paths.joint(model, f"discovered-{run}", "effects.parquet") for run, model in both],
    }
