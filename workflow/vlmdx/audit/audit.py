"""Is every artifact still true? Its bytes against its record, its record against the present code and config."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vlmdx.audit.files import RESULTS, artifacts, hashes, hidden
from vlmdx.audit.reasons import changes
from vlmdx.audit.rules import Producer, Rules
from vlmdx.config import paths
from vlmdx.config.resolved import resolved_is_whole
from vlmdx.provenance.parts import FOLDER, damaged_parts, read_parts
from vlmdx.provenance.record import DamagedRecord, read_record, record_files
from vlmdx.schema.tables import Table

VERIFIED, STALE, TAMPERED, MISSING, ORPHAN, UNKNOWN = STATUSES = (
    "verified",
    "stale",
    "tampered",
    "missing",
    "orphan",
    "unknown",
)
AUDIT = Table(
    "audit",
    pa.schema(
        [
            pa.field("path", pa.string(), nullable=False),
            pa.field("status", pa.string(), nullable=False),
            pa.field("reason", pa.string(), nullable=False),
            pa.field("rule", pa.string()),
            pa.field("digest", pa.string()),
            pa.field("present_digest", pa.string()),
            pa.field("size", pa.int64()),
        ]
    ),
    ("path",),
)


@dataclass(frozen=True)
class Finding:
    """The verdict on one path; `reason` is empty for a verified one."""

    path: str
    status: str
    reason: str
    rule: str | None
    digest: str | None
    present_digest: str | None
    size: int | None


def read_records(folder: Path = FOLDER) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All readable records, the oldest first, and a line for each damaged one by its path."""
    records, damaged = [], {}
    for path in record_files(folder):
        try:
            records.append(read_record(path))
        except DamagedRecord as error:
            damaged[path.as_posix()] = str(error)
    return sorted(records, key=lambda record: record["began"]), damaged


def audit(rules: Rules, results: Path = RESULTS) -> list[Finding]:
    """Judge every file under ``results`` and every output that a record promises.

    The order of the checks is the order of trust: bytes first. A file that is not what its record says is `tampered`
    whatever else holds; then a file that no rule makes any more is an `orphan`; then one whose digest is not the
    present one is `stale`, for the parts that differ.
    """
    records, damaged = read_records(results / "provenance")
    claims = {path: record for record in records for path in record["outputs"]}  # a later record wins
    here = list(artifacts(results))
    sizes = {path: path.stat().st_size for path in here}
    # Sizes first: what has the wrong length needs no reading.
    worth = [p for p in here if (c := claims.get(p.as_posix())) and c["outputs"][p.as_posix()]["size"] == sizes[p]]
    found = hashes(worth, results / "provenance" / "hashes.cache")
    findings = []
    for path in here:
        name = path.as_posix()
        record = claims.get(name)
        same = record is not None and found.get(path) == record["outputs"][name]["sha256"]
        findings.append(_judge(name, record, same, sizes[path], rules, results))
    for name, record in claims.items():
        if not Path(name).exists():
            producer = rules.producer(name)
            if producer is not None:
                findings.append(_finding(name, MISSING, "its record stands, the file does not", record, producer, None))
    findings += [_bookkeeping(name, reason) for name, reason in damaged.items()]
    findings += [
        _bookkeeping(path.as_posix(), "not the parts that its name is the digest of; the next run writes it again")
        for path in damaged_parts(results / "provenance")
    ]
    resolved = results / Path(paths.RESOLVED_CONFIG).name
    if resolved.is_file() and not resolved_is_whole(resolved.as_posix()):
        findings.append(_bookkeeping(resolved.as_posix(), "not as a run wrote it; the next run writes it again"))
    return sorted(findings, key=lambda finding: finding.path)


def _judge(name: str, record: Mapping[str, Any] | None, same: bool, size: int, rules: Rules, results: Path) -> Finding:
    producer = None if hidden(Path(name)) else rules.producer(name)
    if hidden(Path(name)):
        return _finding(name, UNKNOWN, "left by a job that was killed or still runs", record, producer, size)
    if record is None:
        reason = "no record; run its job again" if producer else "no record, and no rule makes it"
        return _finding(name, UNKNOWN, reason, record, producer, size)
    if not same:
        return _finding(name, TAMPERED, "its bytes are not those its job wrote", record, producer, size)
    if producer is None:
        return _finding(name, ORPHAN, f"rule {record['rule']} makes it no more under this config", record, None, size)
    if record["digest"] == producer.digest:
        return _finding(name, VERIFIED, "", record, producer, size)
    return _finding(name, STALE, _why_stale(record, producer, rules, results), record, producer, size)


def _why_stale(record: Mapping[str, Any], producer: Producer, rules: Rules, results: Path) -> str:
    if record["rule"] != producer.rule:
        return f"rule: made by {record['rule']}, today by {producer.rule}"
    job = rules.job(producer.digest)
    if job is None:
        return "unrecorded: the present job does not tell its parts"

    def name(digest: str) -> str | None:
        before = rules.job(digest)
        return before.rule if before else None

    found = changes(read_parts(record["digest"], results / "provenance"), job.parts, name)
    return "; ".join(f"{kind}: {words}" for kind, words in found.items())


def _finding(
    name: str, status: str, reason: str, record: Mapping[str, Any] | None, producer: Producer | None, size: int | None
) -> Finding:
    rule = producer.rule if producer else record["rule"] if record else None
    digest = record["digest"] if record else None
    return Finding(name, status, reason, rule, digest, producer.digest if producer else None, size)


def _bookkeeping(name: str, reason: str) -> Finding:
    """A file about the run that was changed after it was written."""
    return Finding(name, TAMPERED, reason, None, None, None, None)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Number of findings per status, in the order of STATUSES, those that occur."""
    found = Counter(finding.status for finding in findings)
    return {status: found[status] for status in STATUSES if found[status]}
