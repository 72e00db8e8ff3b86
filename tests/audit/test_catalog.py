"""One catalogue: declared types, unique keys, nothing but the run's own files."""

import contextlib
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.audit.catalog import VIEWS, catalog, check_schema, connect, keys, repeated_keys
from vlmdx.audit.csv_views import csv_view, is_table, view_name
from vlmdx.config import paths
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import EFFECTS, SCORES, SELECTION

from tests.audit.conftest import vlmdx
from tests.workflow.project import ROOT

QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/queries.md").read_text(), flags=re.S)


@pytest.fixture(scope="module")
def asked(whole):
    """A connection to the whole run's catalogue, in its folder: what `duckdb -init results/catalog.sql` does."""
    with contextlib.chdir(whole):
        yield connect((whole / "results/catalog.sql").read_text())


def test_there_are_ten_worked_queries():
    assert len(QUERIES) == 10


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_a_worked_query_answers(asked, number):
    rows = asked.execute(QUERIES[number]).fetchall()
    assert rows or "HAVING" in QUERIES[number] or "rejected" in QUERIES[number]


def test_every_column_has_its_declared_type(asked):
    found = dict(asked.execute("SELECT column_name, column_type FROM (DESCRIBE scores)").fetchall())
    assert found["severity"] == "TINYINT" and found["prob"] == "FLOAT" and found["model"] == "VARCHAR"
    assert set(SCORES.schema.names) <= set(found)
    kept = dict(asked.execute("SELECT column_name, column_type FROM (DESCRIBE images)").fetchall())
    assert kept["image"] == "STRUCT(bytes BLOB, path VARCHAR)" or kept["image"] == 'STRUCT("bytes" BLOB, path VARCHAR)'


def test_counts_are_those_of_the_files(asked, whole):
    files = (whole / "results/scores").glob("*/*/*.parquet")
    ((rows,),) = asked.execute("SELECT count(*) FROM scores").fetchall()
    assert rows == sum(pq.read_metadata(file).num_rows for file in files)


def test_p06_a_copied_shard_is_not_counted(copy):
    noise = copy / "results/scores/qwen-demo/bench/noise.parquet"
    noise.with_name("noise (copy).parquet").write_bytes(noise.read_bytes())
    (copy / "results/catalog.sql").unlink(missing_ok=True)
    done = vlmdx(copy, "query", "SELECT count(*) AS n FROM scores", "--out", "n.csv")
    assert done.returncode == 0, done.stdout
    files = [f for f in (copy / "results/scores").glob("*/*/*.parquet") if "copy" not in f.name]
    assert (copy / "n.csv").read_text().split() == ["n", str(sum(pq.read_metadata(f).num_rows for f in files))]


def test_p02_a_database_held_open_elsewhere_is_in_nobodys_way(copy):
    held = duckdb.connect(str(copy / "results" / "results.duckdb"))
    assert vlmdx(copy, "query", "SELECT 1").returncode == 0
    held.close()


def test_csv_tables_have_one_type_per_column_whatever_they_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "failure_modes.csv"
    path.parent.mkdir()
    path.write_text('model,n,d,empty,mode\n007,3,1.5,,"a, b"\n008,4,2,,\n')
    found = connect(csv_view("results/failure_modes.csv"))
    types = dict(found.execute("SELECT column_name, column_type FROM (DESCRIBE failure_modes)").fetchall())
    assert types == {"model": "VARCHAR", "n": "BIGINT", "d": "DOUBLE", "empty": "DOUBLE", "mode": "VARCHAR"}
    assert found.execute("FROM failure_modes").fetchall() == [
        ("007", 3, 1.5, None, "a, b"),
        ("008", 4, 2.0, None, None),
    ]
    path.write_text("model,n\n007,3\n008\n")
    with pytest.raises(ContractError, match=r"failure_modes\.csv: row 3 has 1 fields, the header 2"):
        csv_view("results/failure_modes.csv")


def test_tables_of_one_name_in_two_folders_are_two_views():
    assert view_name("results/accounting.csv") == "accounting"
    assert view_name("results/mechanism/accounting.csv") == "mechanism_accounting"
    assert view_name("results/mechanism/pathways.csv") == "pathways"
    assert not is_table("results/mechanism/qwen-demo/shapes/pathways.csv")


def chosen(ids):
    return [{"item_id": i, "gini": 0.5, "rank": n, "similarity": None} for n, i in enumerate(ids)]


def test_p04_slugs_that_look_like_numbers_or_partitions_stay_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = pa.Table.from_pylist([], schema=SCORES.schema)
    places = [paths.scores(model, "bench", "noise") for model in ("007", "model=7B")]
    for place in places:
        write_table(place, empty, SCORES)
    found = connect(catalog(places))
    assert (
        dict(found.execute("SELECT column_name, column_type FROM (DESCRIBE scores)").fetchall())["model"] == "VARCHAR"
    )


def test_a_catalogue_that_was_edited_is_written_again(whole_copy):
    file = whole_copy / "results/catalog.sql"
    whole = file.read_text()
    file.write_text(whole.replace("bench", "bunch", 1))
    assert vlmdx(whole_copy, "query", "SELECT count(*) FROM scores").returncode == 0
    assert file.read_text() == whole


@pytest.mark.parametrize("wrong", [pa.int64(), pa.dictionary(pa.int32(), pa.string())])
def test_p04_another_type_is_an_error_with_file_and_column(tmp_path, wrong):
    path = tmp_path / "bench.parquet"
    table = pa.Table.from_pylist(chosen(["1"]), schema=SELECTION.schema)
    ids = pa.array([1]) if wrong == pa.int64() else pa.array(["1"]).dictionary_encode()
    pq.write_table(table.set_column(0, pa.field("item_id", ids.type, nullable=False), ids), path)
    with pytest.raises(ContractError, match=r"bench\.parquet: column 'item_id' is .* needs string"):
        check_schema(str(path), SELECTION)


def test_p01_a_half_file_is_named(tmp_path):
    path = tmp_path / "bench.parquet"
    write_table(path, chosen(["1"]), SELECTION)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ContractError, match=r"bench\.parquet: not a readable Parquet file"):
        check_schema(str(path), SELECTION)


def test_p06_a_key_that_stands_twice_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(paths.selection("bench.parquet"), chosen(["1", "2"]), SELECTION)
    once = catalog([paths.selection("bench.parquet")])
    assert repeated_keys(connect(once)) == {}
    listed = "'results/selection/bench.parquet'"
    twice = once.replace(f"[{listed}", f"[{listed}, {listed}")
    assert repeated_keys(connect(twice)) == {"bench": 2}


def test_a_view_for_every_contract_and_its_key_in_the_view():
    assert keys("scores") == ("model", "itemset", "item_id", "corruption", "severity", "option_index")
    assert keys("cells") == ("model", "item_id", "corruption", "severity")
    assert keys("bench") == ("item_id",)
    assert keys("effects") == ("model", "dataset", *EFFECTS.key)
    assert len({pattern for _, patterns in VIEWS.values() for pattern in patterns}) >= len(VIEWS)
