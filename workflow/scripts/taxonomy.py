"""Sort the questions of a run by the skills they need, and test which skills the answerer fails."""

import json
import sys
from typing import Any

import pandas as pd
from vlmdx.discovery.failure_modes import evidence, failure_modes
from vlmdx.discovery.taxonomy import curriculum, question_skills, tree
from vlmdx.provenance import footer, run_job
from vlmdx.schema import ContractError, atomic, read_table, write_table
from vlmdx.schema.tables import PRIMITIVES, ROLLOUTS, SKILLS, VOCABULARY

COLUMNS = ["method", "seed", "phase", "step", "image_id", "question", "valid", "correct"]
SHOWN = ["mode", "kind", "questions", "images", "failed", "rate", "low", "high", "lift", "q"]


def main(snakemake: Any) -> None:
    """Skills of every question, failure modes, the curriculum of every training, and the tree with all of it."""
    settings, run, given = snakemake.params.settings, snakemake.wildcards.run, snakemake.input
    rollouts = read_table(given.rollouts, ROLLOUTS, COLUMNS).to_pandas()
    primitives = read_table(given.primitives, PRIMITIVES).to_pylist()
    vocabulary = read_table(given.vocabulary, VOCABULARY).to_pylist()
    rows = question_skills(primitives, vocabulary)
    skills = {(row["image_id"], row["question"]): row["skills"] for row in rows}
    found = evidence(rollouts)
    if found.empty:
        raise ContractError(f"{given.rollouts}: no valid held-out question of {run} has a verdict on its answer")
    used = sum(key in skills for key in zip(found["image_id"], found["question"], strict=True))
    said = f"{len(found)} distinct held-out questions with a verdict = {used} used + {len(found) - used} without skills"
    print(f"{run}: {said}", file=sys.stderr)
    modes = failure_modes(found, skills, **settings)
    first = curriculum(rollouts[rollouts["phase"] == "train"], skills)
    first.insert(0, "run", run)
    pairs = pd.read_csv(given.stability)["adjusted_rand"]
    # A combination that fails no more than the strongest of its skills is in the table, but tells nothing new.
    told = modes["failure_mode"].astype(bool) & ((modes["kind"] == "skill") | modes["adds"].astype(bool))
    report = {
        "run": run,
        "questions": {"distinct": len(found), "used": used, "without_skills": len(found) - used},
        "failed": float(found["failed"].sum()),
        "failure_rate": float(found["failed"].mean()),
        "stability": {
            "adjusted_rand_mean": float(pairs.mean()) if len(pairs) else None,
            "adjusted_rand_min": float(pairs.min()) if len(pairs) else None,
            "pairs": len(pairs),
        },
        "failure_modes": modes.loc[told, SHOWN].to_dict("records"),
        "meta_skills": tree(found, primitives, vocabulary, first),
    }
    write_table(snakemake.output.skills, rows, SKILLS, footer(snakemake))
    for name, table in {"failure_modes": modes, "curriculum": first}.items():
        with atomic(snakemake.output[name]) as temporary:
            table.to_csv(temporary, index=False, float_format="%.6g")
    with atomic(snakemake.output.taxonomy) as temporary:
        text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
