"""Account for every question of discovery in results/discovery/accounting.csv; stop where one is lost."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from vlmdx.discovery.failure_modes import evidence
from vlmdx.provenance import run_job
from vlmdx.reliability.accounting import Line
from vlmdx.reliability.ras_table import write_csv
from vlmdx.schema import read_table
from vlmdx.schema.tables import BLIND, PRIMITIVES, ROLLOUTS, SECOND, SKILLS

COLUMNS = ["method", "phase", "image_id", "question", "valid", "criterion", "correct"]
UNREAD = "primitives could not be read"


def main(snakemake: Any) -> None:
    """One row per run, stage and method, in the order in which the questions flow."""
    given, settings = snakemake.input, snakemake.params.settings
    seconds = dict(zip(settings["twice_judged"], given.get("second", []), strict=True))
    lines: list[Line] = []
    for run, *files in zip(settings["runs"], given.rollouts, given.primitives, given.skills, given.blind, strict=True):
        rollouts, primitives, skills, blind = files
        table = read_table(rollouts, ROLLOUTS, COLUMNS).to_pandas()
        for method in settings["methods"]:
            lines += asked(run, method, table[table["method"] == method], rollouts)
        lines += sorted_by_skill(run, table, primitives, skills)
        decided = len(evidence(table))
        lines.append(Line("ask blind", run, "", "distinct question", decided, count(blind, BLIND), blind))
        if run in seconds:
            lines += twice(run, seconds[run])
    rows = [{"method" if key == "family" else key: value for key, value in line.row().items()} for line in lines]
    write_csv(snakemake.output[0], rows)


def asked(run: str, method: str, rows: pd.DataFrame, where: str) -> list[Line]:
    """Generated questions that are valid, and valid ones with a verdict on their answer; in both phases."""
    lines = []
    for phase in ("train", "held-out"):
        own = rows[rows["phase"] == phase]
        if own.empty:
            continue
        broken = own[own["valid"] == False]["criterion"].fillna("no criterion")  # noqa: E712
        reasons = {f"not {name}": n for name, n in Counter(broken).items()}
        valid = own[own["valid"] == True]  # noqa: E712
        unknown, silent = int(own["valid"].isna().sum()), int(valid["correct"].isna().sum())
        lines.append(Line(f"validity, {phase}", run, method, "question", len(own), len(valid), where,
                          reasons | _some("undecided", unknown)))  # fmt: skip
        lines.append(Line(f"verdict, {phase}", run, method, "question", len(valid), len(valid) - silent, where,
                          _some("undecided", silent)))  # fmt: skip
    return lines


def sorted_by_skill(run: str, table: pd.DataFrame, primitives: str, skills: str) -> list[Line]:
    """Distinct valid questions with primitives, then with skills; and those that failure modes are tested on."""
    valid = table[table["valid"] == True]  # noqa: E712
    distinct = len(valid.drop_duplicates(["image_id", "question"]))
    found = read_table(primitives, PRIMITIVES).to_pylist()
    silent = sum(row["primitives"] is None for row in found)
    known = {(row["image_id"], row["question"]) for row in read_table(skills, SKILLS).to_pylist()}
    held = evidence(table)
    used = sum(key in known for key in zip(held["image_id"], held["question"], strict=True))
    unit = "distinct question"
    return [
        Line("primitives", run, "", unit, distinct, len(found) - silent, primitives, _some(UNREAD, silent)),
        Line("skills", run, "", unit, len(found) - silent, len(known), skills),
        Line("failure modes", run, "", unit, len(held), used, skills, _some("no skills", len(held) - used)),
    ]


def twice(run: str, path: str) -> Iterable[Line]:
    """Questions that two verifiers judged."""
    rows = read_table(path, SECOND).to_pylist()
    agreed = [row for row in rows if row["valid"] and row["second_valid"]]
    for subject, part in (("valid", rows), ("correct", agreed)):
        silent = sum(row[subject] is None or row[f"second_{subject}"] is None for row in part)
        yield Line(f"second verifier, {subject}", run, "", "distinct question", len(part), len(part) - silent, path,
                   _some("undecided by one of them", silent))  # fmt: skip


def count(path: str, contract: Any) -> int:
    """Rows of an artifact."""
    return read_table(path, contract, ["image_id"]).num_rows


def _some(reason: str, number: int) -> Mapping[str, int]:
    return {reason: number} if number else {}


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
