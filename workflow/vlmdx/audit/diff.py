"""What differs between two runs, and what it did to the tables."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlmdx.audit.audit import read_records
from vlmdx.audit.csv_views import is_table
from vlmdx.audit.ledger import ABOUT
from vlmdx.audit.reasons import changes
from vlmdx.config import paths
from vlmdx.provenance.parts import read_parts
from vlmdx.schema import ContractError

# Columns that name a row of a CSV table.
KEYS = (
    *("model", "dataset", "scope", "operation", "intervention", "position", "grounding", "category", "layer"),
    *("family", "corruption", "severity", "level", "metric", "option_index", "stage", "name", "part"),
)


@dataclass(frozen=True)
class JobChange:
    """A job that is not the same in both runs; `what` is by kind, see :mod:`vlmdx.audit.reasons`."""

    rule: str
    job: str
    what: Mapping[str, str]
    same_bytes: bool

    @property
    def own(self) -> dict[str, str]:
        """What changed of the job itself; empty if it only follows from jobs before it."""
        return {kind: words for kind, words in self.what.items() if kind != "upstream"}


@dataclass(frozen=True)
class TableChange:
    """A table that is not the same in both runs.

    Attributes:
        only_a, only_b: rows by key that stand in one run alone.
        cells: (row key, column, value in A, value in B) for rows that stand in both.
    """

    table: str
    only_a: list[str]
    only_b: list[str]
    cells: list[tuple[str, str, str, str]]


def diff_jobs(run_a: Path, run_b: Path) -> list[JobChange]:
    """Compare the records of two results folders, job by job."""
    jobs_a, jobs_b = _jobs(run_a), _jobs(run_b)
    found = []
    for job in sorted({*jobs_a, *jobs_b}):
        a, b = jobs_a.get(job), jobs_b.get(job)
        if a is None or b is None:
            one = a or b
            assert one is not None
            found.append(JobChange(one["rule"], job, {"only": "in B" if a is None else "in A"}, False))
            continue
        what = {}
        if a["digest"] != b["digest"]:
            then, now = read_parts(a["digest"], run_a / "provenance"), read_parts(b["digest"], run_b / "provenance")
            names = {record["digest"]: record["rule"] for record in jobs_b.values()}
            what = changes(then, now, names.get) if now else {"unrecorded": "the parts of B's digest were not kept"}
        what |= {key: f"{a[key]} -> {b[key]}" for key in ("device", "host_class") if a[key] != b[key]}
        same = _bytes(a) == _bytes(b)
        if what or not same:
            found.append(JobChange(a["rule"], job, what, same))
    return found


def diff_tables(run_a: Path, run_b: Path) -> list[TableChange]:
    """Compare the CSV tables over all models of two results folders, cell by cell; the main tables first."""
    everywhere = {
        file.relative_to(run).as_posix()
        for run in (run_a, run_b)
        for file in run.rglob("*.csv")
        if is_table(f"results/{file.relative_to(run).as_posix()}")
    }
    names = sorted(everywhere, key=lambda name: (f"results/{name}" not in (paths.TABLE, paths.FAILURE_MODES), name))
    found = []
    for name in names:
        a, b = _rows(run_a / name), _rows(run_b / name)
        cells = [
            (key, column, a[key].get(column, ""), b[key].get(column, ""))
            for key in a
            if key in b
            for column in dict.fromkeys([*a[key], *b[key]])
            if a[key].get(column) != b[key].get(column)
        ]
        change = TableChange(name, [k for k in a if k not in b], [k for k in b if k not in a], cells)
        if change.only_a or change.only_b or change.cells:
            found.append(change)
    return found


def _jobs(run: Path) -> dict[str, dict[str, Any]]:
    records, _ = read_records(run / "provenance")
    told = [record for record in records if record["rule"] not in ABOUT]
    return {" ".join([record["rule"], *record["wildcards"].values()]): record for record in told}


def _bytes(record: Mapping[str, Any]) -> dict[str, str]:
    return {path: made["sha256"] for path, made in record["outputs"].items()}


def _rows(path: Path) -> dict[str, dict[str, str]]:
    """Rows by key: the columns that name a row; numbered where those do not tell rows apart."""
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ContractError(f"{path}: not a readable CSV table ({error}); run its job again") from error
    columns = [name for name in KEYS if rows and name in rows[0]]
    named = [" ".join(row[name] for name in columns) for row in rows]
    if len(set(named)) < len(named):
        named = [f"{name} #{number}" for number, name in enumerate(named)]
    return dict(zip(named, rows, strict=True))
