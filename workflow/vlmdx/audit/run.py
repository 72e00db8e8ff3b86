"""The records, ledger and catalogue of one run's folder."""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.iocontainers import Params

from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import catalog, connect, recorded_tables, repeated_keys
from vlmdx.audit.ledger import ABOUT, LEDGER, ledger
from vlmdx.audit.rules import Rules
from vlmdx.config import paths
from vlmdx.provenance.footer import file_sha256, footer
from vlmdx.provenance.parts import FOLDER, keep_parts
from vlmdx.provenance.record import DamagedRecord, read_record, record_files, record_path, write_record
from vlmdx.schema import ContractError, atomic, write_table

LEDGER_FILE = "results/provenance.parquet"
CATALOG_FILE = "results/catalog.sql"


def write_ledger(path: str = LEDGER_FILE, provenance: dict[str, Any] | None = None) -> int:
    """Write the ledger of the run in the working directory; returns its rows.

    Raises:
        FileNotFoundError: there are no records.
    """
    records, damaged = read_records()
    if damaged:
        print(*damaged.values(), sep="\n", file=sys.stderr)
    rows = ledger(records)
    if not rows.num_rows:
        raise FileNotFoundError(f"{FOLDER}: no records; run the workflow in this folder first")
    write_table(path, rows, LEDGER, provenance)
    return rows.num_rows


def write_catalog(root: Path, path: str = CATALOG_FILE) -> None:
    """Write the catalogue of what the config of the last run makes, and see that its keys are unique.

    Args:
        root: folder of the Snakefile.
        path: SQL file.

    Raises:
        ContractError: a file breaks its contract, or a key stands twice.
        FileNotFoundError: no run was made in this folder.
    """
    rules = _rules(root)
    files = [file for file in recorded_tables(read_records()[0]) if file == LEDGER_FILE or rules.producer(file)]
    sql = catalog(files)
    if repeated := repeated_keys(connect(sql)):
        told = ", ".join(f"{view}: {number} keys" for view, number in repeated.items())
        raise ContractError(f"{path}: rows stand twice ({told}); see `vlmdx audit` for files that do not belong")
    with atomic(path) as temporary:
        temporary.write_text(sql, encoding="utf-8")


def refresh(root: Path) -> None:
    """Write ledger and catalogue again and record both, as their rules would.

    Raises:
        ContractError, FileNotFoundError: as :func:`write_ledger` and :func:`write_catalog` do.
    """
    rules = _rules(root)
    _recorded(rules, LEDGER_FILE, [], lambda job: write_ledger(LEDGER_FILE, footer(job)))
    _recorded(rules, CATALOG_FILE, [LEDGER_FILE], lambda job: write_catalog(root))


def _recorded(rules: Rules, path: str, inputs: list[str], write: Callable[[Any], Any]) -> None:
    """Call ``write`` with what Snakemake would give the script of ``path``, then record what it wrote."""
    producer = rules.producer(path)
    assert producer is not None, path
    known = rules.jobs.known[producer.digest]
    keep_parts({known.digest: known.parts})
    params = Params(fromdict={"digest": known.digest, "settings": known.settings})
    job = SimpleNamespace(rule=known.rule, wildcards={}, params=params, input=inputs, output=[path], threads=1)
    began, started = time.monotonic(), datetime.now(UTC)
    write(job)
    write_record(job, started, time.monotonic() - began)


def catalog_is_current(path: str = CATALOG_FILE) -> bool:
    """Whether the catalogue is what its record says, and was written after the last job was recorded."""
    if not Path(path).is_file():
        return False
    try:
        made = read_record(record_path("catalog", {}))["outputs"].get(path)
    except (OSError, DamagedRecord):
        return False
    if made is None or made["sha256"] != file_sha256(Path(path)):
        return False
    written = Path(path).stat().st_mtime_ns
    records = [file for file in record_files() if file.stem not in ABOUT]  # their own come after it
    about = [*records, Path(LEDGER_FILE), Path(paths.RESOLVED_CONFIG)]
    return all(file.stat().st_mtime_ns <= written for file in about if file.is_file())


def _rules(root: Path) -> Rules:
    if not Path(paths.RESOLVED_CONFIG).is_file():
        raise FileNotFoundError(f"{paths.RESOLVED_CONFIG}: none; run the workflow in this folder first")
    return Rules(root, Path(paths.RESOLVED_CONFIG))
