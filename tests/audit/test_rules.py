"""rules/provenance.smk as Snakemake runs it: the ledger of all artifacts and the catalogue of all tables."""

import contextlib
import json

import pyarrow.parquet as pq
import pytest
from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import connect
from vlmdx.audit.ledger import ABOUT, LEDGER
from vlmdx.schema import read_table

from tests.audit.conftest import WHOLE, Audited, vlmdx
from tests.workflow.project import planned


@pytest.fixture(scope="module")
def ledger(whole):
    return read_table(whole / "results/provenance.parquet", LEDGER).to_pylist()


def test_the_ledger_has_one_row_per_artifact_of_all_jobs(whole, ledger):
    records = [record for record in read_records(whole / "results/provenance")[0] if record["rule"] not in ABOUT]
    made = {path: (made["sha256"], record["rule"]) for record in records for path, made in record["outputs"].items()}
    assert {row["path"]: (row["sha256"], row["rule"]) for row in ledger} == made
    assert {"effects", "pathways", "ras_table", "score"} <= {row["rule"] for row in ledger}


def test_the_ledger_tells_model_code_and_settings(ledger):
    row = next(row for row in ledger if row["path"].startswith("results/scores/qwen-demo/pool/"))
    assert row["model"] == "resources/models/qwen-demo" and len(row["code"]) == 64 and row["dtype"] == "float32"
    assert json.loads(row["settings"])["readout"] == "letter" and row["seconds"] > 0


def test_the_catalogue_holds_main_and_mechanism_tables(whole):
    with contextlib.chdir(whole):
        asked = connect((whole / "results/catalog.sql").read_text())
        views = {
            name for (name,) in asked.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }
        (counted,) = asked.execute("SELECT count(*) FROM effects WHERE model = 'qwen-demo'").fetchone()
        (joined,) = asked.execute("SELECT count(*) FROM effects JOIN drawn USING (item_id)").fetchone()
    assert {"items", "scores", "summary", "ledger", "ras_table", "accounting", "effects", "control", "drawn"} <= views
    file = whole / "results/mechanism/qwen-demo/shapes/effects.parquet"
    assert counted == joined == pq.read_metadata(file).num_rows


def test_both_are_verified_and_nothing_is_to_be_done_again(whole_copy):
    assert Audited(whole_copy, WHOLE).bad() == {}
    assert planned(whole_copy, "results/catalog.sql", config=WHOLE) == {}


def test_a_query_brings_them_up_to_date_and_they_stay_verified(whole_copy):
    (whole_copy / "results/catalog.sql").unlink()
    assert vlmdx(whole_copy, "query", "SELECT count(*) FROM ledger").returncode == 0
    assert Audited(whole_copy, WHOLE).bad() == {}
    assert planned(whole_copy, "results/catalog.sql", config=WHOLE) == {}
