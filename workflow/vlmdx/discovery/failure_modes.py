"""Failure modes: skills, and combinations of them, that an answerer fails more often than what it is asked besides.

A failure mode is a fact about the answerer, so a question counts once, however many methods and seeds asked it. Rates
are over valid held-out questions with a verdict on their answer.

The test is the cluster-robust score test of "this skill has nothing to do with failing": with x = 1 for a question that
needs the skill, f = 1 for one that failed, and image i's share ``d_i = sum((x - mean x)(f - mean f))`` of the
covariance, ``z = sum(d_i) / sqrt(sum(d_i**2))``, one-sided, against Student's t with as many degrees of freedom as
there are images with the skill, less one. Why this one: questions about one image are alike and may be near copies, so
shuffling labels among questions (or Fisher's test) would take copies for evidence; the variance is that under the null
hypothesis, so a handful of questions that all failed does not count as certain, as it would with a Wald test or a
bootstrap of the rate; and it has no floor of 1 / replicates, at which all strong modes would tie. All tests of a run
together are held to a false-discovery rate (Benjamini & Hochberg 1995).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, t

from vlmdx.stats import cluster_bootstrap

Skills = Mapping[tuple[str, str], Sequence[str]]


def evidence(rollouts: pd.DataFrame) -> pd.DataFrame:
    """Distinct valid held-out questions with a verdict on their answer.

    Args:
        rollouts: columns ``phase, image_id, question, valid, correct`` of ROLLOUTS.

    Returns:
        ``image_id, question, failed`` (share of its askings, which is 0 or 1 unless verdicts contradict one another)
        and ``asked`` (how often), sorted.
    """
    rows = rollouts[
        (rollouts["phase"] == "held-out") & (rollouts["valid"] == True) & rollouts["correct"].notna()  # noqa: E712
    ]
    failed = (rows["correct"] == False).astype(float)  # noqa: E712
    grouped = rows.assign(failed=failed).groupby(["image_id", "question"], sort=True)["failed"]
    return grouped.agg(failed="mean", asked="size").reset_index()


def failure_modes(
    found: pd.DataFrame,
    skills: Skills,
    *,
    minimum: int,
    alpha: float,
    replicates: int,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Every skill and combination that occurs often enough, strongest evidence first.

    Args:
        found: from :func:`evidence`.
        skills: of a question, by (image id, question); one without an entry is left out, and counted by the caller.
        minimum: questions that a row needs.
        alpha: false-discovery rate.
        replicates, confidence, seed: of the bootstrap intervals of the rates, clustered by image.

    Returns:
        One row per tested skill or combination (the whole set of a question's skills, where it has several):

        - ``mode, kind, skills``: its name, "skill" or "combination", how many skills;
        - ``questions, images, failed, rate, low, high``;
        - ``base``: failure rate over all questions with skills; ``lift``: rate / base, NaN where nothing failed;
        - ``z, p, q, failure_mode``: the test; ``failure_mode`` is q <= alpha;
        - ``part, part_rate, part_q, adds``: of a combination, the skill in it with the strongest evidence, and the same
          test among the questions of that skill alone: ``adds`` if the combination fails above it too. One that does
          not stands below its part, and is no news;
        - ``questions_alone, rate_alone``: of the questions that need none of the failure modes above this row: what is
          left of it once those are known.

    Raises:
        ValueError: no question has skills.
    """
    keys = list(zip(found["image_id"], found["question"], strict=True))
    known = np.array([bool(skills.get(key)) for key in keys])
    if not known.any():
        raise ValueError("no valid held-out question has a verdict on its answer and skills; nothing can be tested")
    found = found[known]
    sets = [frozenset(skills[key]) for key in zip(found["image_id"], found["question"], strict=True)]
    failed, images = found["failed"].to_numpy(float), found["image_id"].to_numpy()
    units = [(frozenset([name]), "skill") for name in sorted(set().union(*sets))]
    units += [(each, "combination") for each in sorted(set(sets), key=sorted) if len(each) > 1]
    needs = {
        (unit, kind): np.array([unit <= each if kind == "skill" else unit == each for each in sets])
        for unit, kind in units
    }
    needs = {unit: has for unit, has in needs.items() if has.sum() >= minimum}
    if not needs:
        return pd.DataFrame(columns=COLUMNS)
    base = failed.mean()
    columns = np.stack(list(needs.values()), axis=1).astype(float)
    interval = cluster_bootstrap(
        images,
        columns * failed[:, None],
        columns,
        replicates=replicates,
        confidence=confidence,
        seed=seed,
    )
    rates = {unit: float(failed[has].mean()) for unit, has in needs.items()}
    rows: list[dict[str, Any]] = []
    for number, ((unit, kind), has) in enumerate(needs.items()):
        z, p = score_test(has, failed, images)
        rows.append(
            {
                "unit": unit,
                "mode": " + ".join(sorted(unit)),
                "kind": kind,
                "skills": len(unit),
                "questions": int(has.sum()),
                "images": len(set(images[has])),
                "failed": float(failed[has].sum()),
                "rate": rates[unit, kind],
                "low": float(interval.low[number]),
                "high": float(interval.high[number]),
                "base": float(base),
                "lift": rates[unit, kind] / base if base else np.nan,
                "z": z,
                "p": p,
            }
        )
    table = _parts(pd.DataFrame(rows), needs, failed, images, alpha)
    table["q"] = false_discovery_control(table["p"])
    table["failure_mode"] = table["q"] <= alpha
    order = ["place", "kind", "lift", "mode"]
    table = table.sort_values(order, ascending=[True, False, False, True], kind="stable").reset_index(drop=True)
    return _alone(table, needs, failed)[COLUMNS]


Needs = Mapping[tuple[frozenset[str], str], np.ndarray]
COLUMNS = ["mode", "kind", "skills", "questions", "images", "failed", "rate", "low", "high", "base", "lift"]
COLUMNS += ["z", "p", "q", "failure_mode", "part", "part_rate", "part_q", "adds", "questions_alone", "rate_alone"]


def score_test(has: np.ndarray, failed: np.ndarray, images: np.ndarray) -> tuple[float, float]:
    """z and one-sided p of the covariance of ``has`` and ``failed``, clustered by image; see the module.

    Args:
        has: bool [n], the question needs the skill.
        failed: float [n], 0 to 1.
        images: [n], image ids.
    """
    share = (has - has.mean()) * (failed - failed.mean())
    by_image = pd.Series(share).groupby(images).sum().to_numpy()
    spread = float(np.sqrt(np.square(by_image).sum()))
    clusters = len(set(images[has]))
    if spread < 1e-12 or clusters < 2:  # nothing failed, everything did, all need it, or one image cannot tell
        return 0.0, 1.0
    z = float(by_image.sum()) / spread
    return z, float(t.sf(z, clusters - 1))


def _parts(table: pd.DataFrame, needs: Needs, failed: np.ndarray, images: np.ndarray, alpha: float) -> pd.DataFrame:
    """What a combination is beyond its strongest skill, and ``place``, the p-value that a row is ordered by."""
    single = table[table["kind"] == "skill"].set_index("mode")
    told: list[dict[str, Any]] = []
    for row in table.itertuples():
        if row.kind == "skill":
            told.append({"part": None, "part_rate": np.nan, "part_p": np.nan})
            continue
        part = str(single.loc[sorted(row.unit), "p"].idxmin())  # type: ignore[call-overload]
        among = needs[frozenset([part]), "skill"]
        _, p = score_test(needs[row.unit, "combination"][among], failed[among], images[among])  # type: ignore[index]
        told.append({"part": part, "part_rate": single.loc[part, "rate"], "part_p": p})
    table = pd.concat([table, pd.DataFrame(told)], axis=1)
    tested = table["part_p"].notna()
    table["part_q"] = np.nan
    if tested.any():
        table.loc[tested, "part_q"] = false_discovery_control(table.loc[tested, "part_p"])
    table["adds"] = table["part_q"] <= alpha
    below = table["part"].map(single["p"]).astype(float)
    table["place"] = table["p"].where(table["adds"] | ~tested, np.fmax(table["p"], below))
    return table


def _alone(table: pd.DataFrame, needs: Needs, failed: np.ndarray) -> pd.DataFrame:
    taken = np.zeros(len(failed), bool)
    counts, rates = [], []
    for row in table.itertuples():
        has = needs[row.unit, str(row.kind)]  # type: ignore[index]
        left = has & ~taken
        counts.append(int(left.sum()))
        rates.append(float(failed[left].mean()) if left.any() else np.nan)
        taken |= has & bool(row.failure_mode)
    return table.assign(questions_alone=counts, rate_alone=rates)


def shared_skills(modes: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Which skills are failure modes of all answerers, and which of one.

    Args:
        modes: table of :func:`failure_modes` by run. All runs have one vocabulary of skills.

    Returns:
        One row per skill and run that tested it: ``skill, verdict, runs_tested, runs_failing, run, questions, rate,
        low, high, q, failure_mode``. The verdict is universal (a failure mode of every run that tested it, two at
        least), specific (of one of several), shared (of some), none, or untested elsewhere (only one run tested it).
        "Not found" is not "not there": compare the intervals before calling a skill specific.
    """
    rows = pd.concat([t[t["kind"] == "skill"].assign(run=run) for run, t in modes.items()], ignore_index=True)
    if rows.empty:
        return pd.DataFrame(columns=SHARED)
    rows = rows.rename(columns={"mode": "skill"})
    grouped = rows.groupby("skill")["failure_mode"]
    rows["runs_tested"], rows["runs_failing"] = grouped.transform("size"), grouped.transform("sum").astype(int)
    rows["verdict"] = [_verdict(n, k) for n, k in zip(rows["runs_tested"], rows["runs_failing"], strict=True)]
    order = [v for v in VERDICTS if v in set(rows["verdict"])]
    rows["verdict"] = pd.Categorical(rows["verdict"], order, ordered=True)
    return rows.sort_values(["verdict", "skill", "run"])[SHARED].reset_index(drop=True)


VERDICTS = ("universal", "shared", "specific", "untested elsewhere", "none")
SHARED = ["skill", "verdict", "runs_tested", "runs_failing", "run", "questions", "rate", "low", "high", "q"]
SHARED += ["failure_mode"]


def _verdict(tested: int, failing: int) -> str:
    if failing == 0:
        return "none"
    if tested == 1:
        return "untested elsewhere"
    return "universal" if failing == tested else "specific" if failing == 1 else "shared"
