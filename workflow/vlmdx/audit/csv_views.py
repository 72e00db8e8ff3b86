"""Views over the CSV tables that a run ends with, under the name of their file.

A CSV file has no types, so they are found once, over all of its rows, and written into the view: what names something
is text whatever it looks like, whole numbers are BIGINT, numbers (or nothing at all) DOUBLE, all else is text; empty is
NULL.
"""

import csv
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from vlmdx.config import paths
from vlmdx.schema import ContractError

NAMES = {"model", "dataset", "family", "corruption", "operation", "intervention", "position", "letter", "name"}
FOLDERS = {"results", "results/mechanism", "results/discovery"}  # of the tables over all models
MAIN = {PurePosixPath(path).stem for path in (paths.TABLE, paths.ACCOUNTING, paths.POSITION_BIAS, paths.CIRCULAR)}


def is_table(path: str) -> bool:
    """Whether a path is one of the CSV tables over all models, not one of a model's own."""
    return path.endswith(".csv") and str(PurePosixPath(path).parent) in FOLDERS


def view_name(path: str) -> str:
    """The file's stem; with its folder in front where the main job has a table of that name (accounting)."""
    file = PurePosixPath(path)
    return f"{file.parent.name}_{file.stem}" if file.stem in MAIN and str(file.parent) != "results" else file.stem


def csv_view(path: str) -> str:
    """The statement that creates the view of one file.

    Raises:
        ContractError: not UTF-8, no header, or a row of another length.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, strict=True)
    except (OSError, ValueError, csv.Error) as error:
        raise ContractError(f"{path}: not a readable CSV table ({error}); run its job again") from error
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ContractError(f"{path}: row {number} has {len(row)} fields, the header {len(header)}")
    values = zip(*rows, strict=True) if rows else [()] * len(header)
    types = {name: _type(name, column) for name, column in zip(header, values, strict=True)}
    columns = ", ".join(f"{_text(name)}: '{type_}'" for name, type_ in types.items())
    return (
        f'CREATE OR REPLACE VIEW "{view_name(path)}" AS\n'
        f"SELECT * FROM read_csv({_text(path)}, header = true, auto_detect = false, delim = ',', quote = '\"', "
        f"escape = '\"', nullstr = '', columns = {{{columns}}});"
    )


def _type(name: str, values: Iterable[str]) -> str:
    present = [value for value in values if value]
    if name in NAMES or not all(map(_is_number, present)):
        return "VARCHAR"
    return "BIGINT" if present and all(re.fullmatch(r"-?\d{1,18}", value) for value in present) else "DOUBLE"


def _is_number(value: str) -> bool:
    """Whether DuckDB and Python read the same finite number."""
    return re.fullmatch(r"-?\d+(\.\d*)?(e[+-]?\d+)?", value) is not None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
