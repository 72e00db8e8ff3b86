"""From a row of a table back to the answers, questions, images, model files and code that made it."""

import csv
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import contract_of
from vlmdx.config import paths
from vlmdx.provenance.parts import read_parts
from vlmdx.schema.tables import CORRUPTED, ITEMS, SCORES

Record = Mapping[str, Any]


@dataclass
class Step:
    """One artifact on the way back, with the steps before it; `seen` stands in for steps told already."""

    path: str
    record: Record | None
    facts: list[str] = field(default_factory=list)
    before: list["Step"] = field(default_factory=list)
    seen: bool = False


@dataclass(frozen=True)
class Answer:
    """Where a row comes from.

    Attributes:
        row: the row itself.
        step: the way back, from the table on.
        remake: command that computes everything on the way from the answers on again.
    """

    row: Mapping[str, str]
    step: Step
    remake: str


def why(table: str, row: str) -> Answer:
    """Walk back from the rows of ``table`` whose first column is ``row``.

    Args:
        table: a CSV file of the run, such as `results/ras_table.csv`.
        row: the model's slug, or whatever the first column holds.

    Raises:
        FileNotFoundError: no such table.
        LookupError: no such row, or no record of the table; the message lists the rows there are.
    """
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first = next(iter(rows[0])) if rows else "row"
    chosen = [r for r in rows if r[first] == row]
    if not chosen:
        raise LookupError(f"{table}: no {first} {row!r}; there are {', '.join(dict.fromkeys(r[first] for r in rows))}")
    records, _ = read_records()
    claims = {path: record for record in records for path in record["outputs"]}
    if table not in claims:
        raise LookupError(f"{table}: no record of it in results/provenance; run its job again")
    step = _walk(table, claims, chosen[0].get("model", row), set())
    return Answer(chosen[0], step, remake(table, step))


def remake(target: str, step: Step) -> str:
    """The command that computes ``target`` again, from the model's answers on, under the config it was made with."""
    forced = [s.path for s in _flat(step) if s.record and s.record["rule"] in ("score", "cut_bench", "reliability")]
    shown = " ".join(map(shlex.quote, dict.fromkeys([*sorted(forced), target])))
    return f"snakemake --configfile {paths.RESOLVED_CONFIG} --forcerun {shown} -- {shlex.quote(target)}"


def _walk(path: str, claims: Mapping[str, Record], model: str, told: set[str]) -> Step:
    record = claims.get(path)
    step = Step(path, record)
    if path in told:
        step.seen = True
        return step
    told.add(path)
    step.facts = _facts(path, record, told)
    for source in record["inputs"] if record else ():
        if _belongs(claims.get(source), model):
            step.before.append(_walk(source, claims, model, told))
    return step


def _belongs(record: Record | None, model: str) -> bool:
    """Whether an input has to do with the row: not if it was made for another model, or only counts rows.

    The pool scores of other voters do: they selected the bench.
    """
    if record is None:
        return True
    owner = record["wildcards"].get("model") or record["wildcards"].get("voter")
    return owner in (None, model) and record["rule"] not in ("accounting", "circular")


def _facts(path: str, record: Record | None, told: set[str]) -> list[str]:
    """What is known of an artifact; the files of a model are listed where it is met first."""
    facts = []
    if record is None:
        return ["not made by the workflow"]
    if Path(path).is_file():
        facts += _content(path)
    parts, model = read_parts(record["digest"]), record["model"]
    if model:
        place = f", {record['dtype']} on {record['device']}" if record["device"] else ""
        facts.append(f"model {model['source']} at {model['revision'] or 'the content of its folder'}{place}")
    if parts:
        files = [f"{name}: {str(digest)[:16]}" for name, digest in (parts["settings"]["content"] or {}).items()]
        if files and str(files) not in told:
            facts += files
            told.add(str(files))
        facts.append(f"code {parts['code'][:12]} at commit {str(record['git']['commit'])[:10]}{_dirty(record)}")
    return facts


def _content(path: str) -> list[str]:
    """What a table holds, in items and images."""
    contract = contract_of(path)
    columns = {ITEMS: ("item_id", "image_id"), SCORES: ("item_id",), CORRUPTED: ("image_id",)}
    wanted = columns.get(contract) if contract else None
    if contract is None or wanted is None:
        return []
    counts = ", ".join(f"count(DISTINCT {column})" for column in wanted)
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT count(*), {counts} FROM read_parquet(?, hive_partitioning = false)", [path]
        ).fetchone()
    assert found is not None
    names = ["rows", *(f"{column.removesuffix('_id')}s" for column in wanted)]
    return [", ".join(f"{number} {name}" for number, name in zip(found, names, strict=True))]


def _dirty(record: Record) -> str:
    return " with uncommitted changes" if record["git"]["dirty"] else ""


def _flat(step: Step) -> Iterator[Step]:
    yield step
    for before in step.before:
        yield from _flat(before)
