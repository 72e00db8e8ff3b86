"""The records, ledger and catalogue of one run's folder."""

import sys
from pathlib import Path

from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import catalog, connect, recorded_parquet, repeated_keys
from vlmdx.audit.ledger import LEDGER, ledger
from vlmdx.audit.rules import Rules
from vlmdx.config import paths
from vlmdx.provenance.record import FOLDER, record_files
from vlmdx.schema import ContractError, atomic, write_table

LEDGER_FILE = "results/provenance.parquet"
CATALOG_FILE = "results/catalog.sql"


def write_ledger(path: str = LEDGER_FILE) -> int:
    """Write the ledger of the run in the working directory; returns its rows.

    Raises:
        FileNotFoundError: there are no records.
    """
    records, damaged = read_records()
    print(*damaged, sep="\n", end="\n" if damaged else "", file=sys.stderr)
    if not records:
        raise FileNotFoundError(f"{FOLDER}: no records; run the workflow in this folder first")
    rows = ledger(records)
    write_table(path, rows, LEDGER)
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
    if not Path(paths.RESOLVED_CONFIG).is_file():
        raise FileNotFoundError(f"{paths.RESOLVED_CONFIG}: none; run the workflow in this folder first")
    rules = Rules(root, Path(paths.RESOLVED_CONFIG))
    files = [file for file in recorded_parquet(read_records()[0]) if file == LEDGER_FILE or rules.producer(file)]
    sql = catalog(files)
    if repeated := repeated_keys(connect(sql)):
        told = ", ".join(f"{view}: {number} keys" for view, number in repeated.items())
        raise ContractError(f"{path}: rows stand twice ({told}); see `vlmdx audit` for files that do not belong")
    with atomic(path) as temporary:
        temporary.write_text(sql, encoding="utf-8")


def catalog_is_current(path: str = CATALOG_FILE) -> bool:
    """Whether the catalogue was written after the last job was recorded."""
    if not Path(path).is_file():
        return False
    written = Path(path).stat().st_mtime_ns
    records = [file for file in record_files() if file.stem not in ("catalog", "provenance")]  # their own come after it
    about = [*records, Path(LEDGER_FILE), Path(paths.RESOLVED_CONFIG)]
    return all(file.stat().st_mtime_ns <= written for file in about if file.is_file())
