"""Taxonomy of a run: skills of its questions, the tree with its counts, and when each skill was first exploited."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

Row = Mapping[str, Any]


def question_skills(primitives: Sequence[Row], vocabulary: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows of SKILLS for the questions whose primitives are known.

    Raises:
        ValueError: a primitive that the vocabulary does not have; it was made from other primitives.
    """
    skill_of = {row["primitive"]: row["skill"] for row in vocabulary}
    rows = []
    for row in primitives:
        if row["primitives"] is None:
            continue
        if unknown := set(row["primitives"]) - set(skill_of):
            raise ValueError(f"primitives {sorted(unknown)[:3]} are not in the vocabulary; make it again")
        skills = sorted({skill_of[each] for each in row["primitives"]})
        rows.append({"image_id": row["image_id"], "question": row["question"], "skills": skills})
    return rows


def curriculum(training: pd.DataFrame, skills: Mapping[tuple[str, str], Sequence[str]]) -> pd.DataFrame:
    """When each skill was first exploited, that is needed by a valid question that was answered wrongly.

    Args:
        training: training rows of ROLLOUTS: ``method, seed, step, image_id, question, valid, correct``.
        skills: by (image id, question).

    Returns:
        One row per method, seed and skill that this training asked for: ``method, seed, skill, valid, failed``
        (questions with it, copies counted), ``first_asked``, ``first_step`` (NA: never exploited) and ``steps``, the
        last step.
    """
    valid = training[training["valid"] == True]  # noqa: E712
    named = [list(skills.get(key, ())) for key in zip(valid["image_id"], valid["question"], strict=True)]
    rows = valid.assign(skill=named).explode("skill").dropna(subset=["skill"])
    rows = rows.assign(failed=rows["correct"] == False)  # noqa: E712 -- NULL is undecided
    rows["at"] = rows["step"].where(rows["failed"])
    last = training.groupby(["method", "seed"])["step"].max().rename("steps").reset_index()
    table = (
        rows.groupby(["method", "seed", "skill"], sort=True)
        .agg(valid=("step", "size"), failed=("failed", "sum"), first_asked=("step", "min"), first_step=("at", "min"))
        .reset_index()
        .merge(last, on=["method", "seed"], how="left")
    )
    return table.astype({"first_step": "Int64", "failed": int})


def tree(
    found: pd.DataFrame, primitives: Sequence[Row], vocabulary: Sequence[Row], first: pd.DataFrame
) -> list[dict[str, Any]]:
    """Meta-skills, their skills, their primitives, each with what was asked of it.

    Args:
        found: distinct held-out questions, from :func:`vlmdx.discovery.failure_modes.evidence`.
        primitives: rows of PRIMITIVES.
        vocabulary: rows of VOCABULARY.
        first: from :func:`curriculum`.

    Returns:
        Nodes ``{name, asked, valid, failed, failure_rate, …}``, those with most questions first. ``asked`` counts the
        askings of all methods and seeds, ``valid`` the distinct questions among them, ``failed`` those of ``valid``
        that were answered wrongly. What none of the run's questions needs is left out.
    """
    needs = {(r["image_id"], r["question"]): set(r["primitives"] or ()) for r in primitives}
    keys = list(zip(found["image_id"], found["question"], strict=True))
    of_run = set().union(*needs.values())
    known = [row for row in vocabulary if row["primitive"] in of_run]

    def node(name: str, members: set[str], **more: Any) -> dict[str, Any]:
        has = np.array([bool(needs.get(key, set()) & members) for key in keys], bool)
        valid, failed = int(has.sum()), float(found["failed"].to_numpy()[has].sum())
        return {
            "name": name,
            "asked": int(found["asked"].to_numpy()[has].sum()),
            "valid": valid,
            "failed": failed,
            "failure_rate": failed / valid if valid else None,
            **more,
        }

    def group(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
        return {name: [r for r in rows if r[column] == name] for name in sorted({r[column] for r in rows})}

    def ordered(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(nodes, key=lambda each: (-each["valid"], each["name"]))

    steps = first.dropna(subset=["first_step"])
    exploited = {
        str(skill): {str(m): [int(s) for s in p["first_step"]] for m, p in part.groupby("method")}
        for skill, part in steps.groupby("skill")
    }

    def skill(name: str, rows: list[Row]) -> dict[str, Any]:
        leaves = ordered([node(row["primitive"], {row["primitive"]}) for row in rows])
        return node(
            name,
            {row["primitive"] for row in rows},
            words=rows[0]["words"],
            first_exploited=exploited.get(name, {}),
            primitives=leaves,
        )

    return ordered(
        [
            node(
                meta,
                {row["primitive"] for row in rows},
                skills=ordered([skill(name, part) for name, part in group(rows, "skill").items()]),
            )
            for meta, rows in group(known, "meta_skill").items()
        ]
    )
