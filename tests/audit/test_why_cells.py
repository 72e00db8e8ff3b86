"""`vlmdx why` of three random cells, each made again by the command that it prints: the same bytes."""

import csv
import json
import random

import pytest

from tests.audit.conftest import MECHANISM, printed_command, vlmdx
from tests.workflow.project import run

# A table of each kind, and the columns that name a row of it.
TABLES = {
    "results/ras_table.csv": ("model",),
    "results/ras_by_corruption.csv": ("model", "corruption"),
    f"{MECHANISM}/failure_modes.csv": ("model", "operation"),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_random_cell_is_made_again_with_the_same_bytes(whole_copy, table):
    draw, names = random.Random(table), TABLES[table]
    path = whole_copy / table
    row = draw.choice(list(csv.DictReader(path.open())))
    column = draw.choice([name for name in row if name not in names and row[name]])
    rows = [word for name in names for word in ("--row", f"{name}={row[name]}")]
    told = vlmdx(whole_copy, "why", table, *rows, "--column", column)
    assert told.returncode == 0, told.stdout
    assert told.stdout.split()[:2] == [column, row[column].split()[0]]
    assert "model.safetensors: " in told.stdout and "Changed since" not in told.stdout

    answers = "effects" if "mechanism" in table else "score"
    jobs = [*(whole_copy / "results/provenance" / answers).rglob("*.json")]
    own = {job: json.loads(job.read_text()) for job in jobs if row["model"] in job.as_posix()}
    assert own
    made = {name: (whole_copy / name).read_bytes() for record in own.values() for name in record["outputs"]}
    made[table] = path.read_bytes()
    path.write_text("not what it was")
    again = run(whole_copy, "--quiet", "all", *printed_command(told.stdout), config=None)
    assert again.returncode == 0, again.stdout
    for job, record in own.items():
        assert json.loads(job.read_text())["began"] > record["began"], "the model was not asked again"
    assert {name: (whole_copy / name).read_bytes() for name in made} == made
