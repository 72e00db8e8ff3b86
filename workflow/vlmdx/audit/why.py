"""From a row of a table back to the answers, questions, images, model files and code that made it."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import contract_of
from vlmdx.audit.csv_views import is_table
from vlmdx.audit.diff import KEYS
from vlmdx.audit.reasons import changes
from vlmdx.audit.rules import Rules
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
        remake: words after `snakemake` that compute everything on the way from the model's answers on again.
        changed: what of the code and config is no longer what made the table, by job; empty if nothing.
    """

    row: Mapping[str, str]
    step: Step
    remake: list[str]
    changed: Mapping[str, str]


def why(table: str, wanted: Sequence[str], rules: Rules) -> Answer:
    """Walk back from one row of ``table``.

    Args:
        table: a CSV file of the run, such as `results/ras_table.csv`.
        wanted: what names the row: a value of the first column, or `column=value`.
        rules: of the config that the run was made with.

    Raises:
        LookupError: no such table or row, several rows, or no record of the table; the message lists what there is.
    """
    records, _ = read_records()
    claims = {path: record for record in records for path in record["outputs"]}
    if not Path(table).is_file():
        there = ", ".join(sorted(path for path in claims if is_table(path)))
        raise LookupError(f"{table}: no such table; there are {there or 'none'}")
    row = find_row(table, wanted)
    if table not in claims:
        raise LookupError(f"{table}: no record of it in results/provenance; run its job again")
    model = row.get("model")
    step = _walk(table, claims, model, set())
    steps = [s for s in _flat(step) if s.record]
    forced = sorted({s.path for s in steps if model and _owner(s.record) == model})
    return Answer(
        row, step, ["--forcerun", *forced, *([] if table in forced else [table]), "--", table], _changed(steps, rules)
    )


def find_row(table: str, wanted: Sequence[str]) -> dict[str, str]:
    """The one row of a CSV file that ``wanted`` names; arguments and errors as for :func:`why`."""
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise LookupError(f"{table}: it has no rows")
    first = next(iter(rows[0]))
    pairs = [(word.partition("=")[0], word.partition("=")[2]) if "=" in word else (first, word) for word in wanted]
    for column, value in pairs:
        if column not in rows[0]:
            raise LookupError(f"{table}: no column {column!r}; there are {', '.join(rows[0])}")
        there = list(dict.fromkeys(row[column] for row in rows))
        rows = [row for row in rows if row[column] == value]
        if not rows:
            raise LookupError(f"{table}: no {column} {value!r}; there are {', '.join(there)}")
    if len(rows) > 1:
        differing = [name for name in rows[0] if name not in dict(pairs) and len({row[name] for row in rows}) > 1]
        telling = [name for name in differing if len({row[name] for row in rows}) == len(rows)]
        several = next((name for name in (*telling, *differing) if name in KEYS), (*telling, *differing, first)[0])
        values = ", ".join(dict.fromkeys(row[several] for row in rows))
        raise LookupError(f"{table}: {len(rows)} rows are {' '.join(wanted)}; add --row {several}=..., one of {values}")
    return rows[0]


def _changed(steps: Sequence[Step], rules: Rules) -> dict[str, str]:
    """Why the present job of a step is not the recorded one, by job, for the jobs in which the change begins."""
    found = {}
    for step in steps:
        assert step.record is not None
        producer = rules.producer(step.path)
        name = " ".join([step.record["rule"], *step.record["wildcards"].values()])
        if producer is None:
            found[name] = "no rule makes it any more"
        elif producer.digest != step.record["digest"]:
            present = rules.job(producer.digest)
            what = changes(read_parts(step.record["digest"]), present.parts) if present else {}
            if own := {kind: words for kind, words in what.items() if kind != "upstream"}:
                found[name] = "; ".join(f"{kind}: {words}" for kind, words in own.items())
    return found


def _owner(record: Record | None) -> str | None:
    """The model whose job this is."""
    return (record["wildcards"].get("model") or record["wildcards"].get("voter")) if record else None


def _walk(path: str, claims: Mapping[str, Record], model: str | None, told: set[str]) -> Step:
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


def _belongs(record: Record | None, model: str | None) -> bool:
    """Whether an input has to do with the row: not if it was made for another model, or only counts rows.

    The pool scores of other voters do: they selected the bench.
    """
    if record is None or model is None:
        return True
    return _owner(record) in (None, model) and record["rule"] not in ("accounting", "circular")


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
