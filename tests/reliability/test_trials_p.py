"""The trials of section P, with their own values: locks, NaN against NULL, drifting types, stray and stale files."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.reliability import reliability_tables, result_tables, write_csv
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CELLS, CORRUPTED, GINI, IMAGES, ITEMS, POSITION, SCORES, SELECTION, SET_ASIDE, SUMMARY

from tests.reliability.synthetic_scores import SETTINGS, SEVERITIES, item, score_rows, write_items, write_shards

FOG = {**SETTINGS, "families": {"weather": ["fog"]}}
CONTRACTS = (ITEMS, IMAGES, CORRUPTED, SCORES, SELECTION, GINI, CELLS, SUMMARY, POSITION, SET_ASIDE)


@pytest.fixture
def shards(tmp_path):
    """Items of three options and their score shards, in a folder whose name holds an equals sign and a dot."""
    items = [item(n, 3, 0) for n in range(6)]
    clean = [r for i in items for r in score_rows(i, "clean", 0, [2.0, 0.0, 0.0])]
    fog = [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, [0.0, 2.0, 0.0])]
    folder = tmp_path / "rev=main" / "model=7B"
    paths = write_shards(folder, {"clean": clean, "weather": fog})
    return write_items(tmp_path / "items.parquet", items), paths


def measure(shards, model="m", **changes):
    questions, paths = shards
    return reliability_tables(model, paths, questions, **{**FOG, **changes})


def rewrite(path, change):
    """Change a table's columns past the contract, as another program would."""
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


JOB = """
import sys
from vlmdx.reliability import reliability_tables
from tests.reliability.test_trials_p import FOG
questions, *paths = sys.argv[1:]
print(reliability_tables("m", paths, questions, **FOG).cells.num_rows)
"""


def test_p02_a_database_held_by_another_process_and_two_reports_at_once(tmp_path, shards):
    holder = "import duckdb, time\nc = duckdb.connect('results.duckdb')\nprint('held', flush=True)\ntime.sleep(120)\n"
    questions, paths = shards
    root = Path(__file__).parents[2]
    where = {"cwd": tmp_path, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", holder], **where) as held:
        try:
            assert held.stdout.readline().strip() == "held"
            with pytest.raises(duckdb.IOException, match="lock"):  # the trouble is real
                duckdb.connect(str(tmp_path / "results.duckdb"), read_only=True)
            environment = {**os.environ, "PYTHONPATH": str(root)}
            words = [sys.executable, "-c", JOB, questions, *paths]
            jobs = [subprocess.Popen(words, **where, stderr=subprocess.PIPE, env=environment) for _ in range(2)]
            for job in jobs:
                out, err = job.communicate(timeout=120)
                assert (job.returncode, out.strip()) == (0, "30"), err
        finally:
            held.kill()
    assert {path.name for path in tmp_path.iterdir()} == {"results.duckdb", "rev=main", "items.parquet"}


def test_p03_the_values_02_nan_null_through_pandas_and_duckdb(tmp_path):
    """0.2, NaN, NULL: no artifact holds the NaN, and without it both readers agree on mean, maximum, top and filter."""
    path = tmp_path / "gini.parquet"
    rows = [{"item_id": n, "gini": v, "voters": 1} for n, v in (("a", 0.2), ("b", math.nan), ("c", None))]
    with pytest.raises(ContractError, match=r"gini\.parquet: column 'gini' is NaN in row 1; missing values are NULL"):
        write_table(path, rows, GINI)
    write_table(path, [{**row, "gini": 0.2 if row["item_id"] == "a" else None} for row in rows], GINI)
    frame = pd.read_parquet(path)
    ask = duckdb.connect()

    def one(query):
        return ask.execute(query.replace("FROM t", "FROM read_parquet($path)"), {"path": str(path)}).fetchone()

    assert one("SELECT avg(gini), max(gini), count(gini), count(*) FROM t") == pytest.approx(
        (frame["gini"].mean(), frame["gini"].max(), frame["gini"].count(), len(frame))
    )
    assert one("SELECT item_id FROM t ORDER BY gini DESC NULLS LAST LIMIT 1") == ("a",)
    assert frame.sort_values("gini", ascending=False)["item_id"].iloc[0] == "a"
    assert one("SELECT count(*) FROM t WHERE gini > 0.1")[0] == (frame["gini"] > 0.1).sum() == 1
    assert one("SELECT count(*) FROM t WHERE gini > 0.5")[0] == (frame["gini"] > 0.5).sum() == 0


def filler(kind):
    """Some value of an Arrow type."""
    if pa.types.is_list(kind):
        return []
    return {"string": "a", "bool": True}.get(str(kind), None if pa.types.is_struct(kind) else 1)


FLOATS = [(c, field.name) for c in CONTRACTS for field in c.schema if pa.types.is_floating(field.type)]


@pytest.mark.parametrize(("contract", "column"), FLOATS, ids=lambda value: getattr(value, "name", value))
def test_p03_no_column_of_any_artifact_takes_nan(tmp_path, contract, column):
    row = {field.name: filler(field.type) for field in contract.schema}
    row |= {"image": {"bytes": b"x", "path": None}} if "image" in row else {}
    write_table(tmp_path / "good.parquet", [row], contract)
    with pytest.raises(ContractError, match=rf"x\.parquet: column '{column}' is NaN in row 0"):
        write_table(tmp_path / "x.parquet", [{**row, column: math.nan}], contract)
    assert not (tmp_path / "x.parquet").exists()


DRIFTS = {
    "whole-number ids": ("item_id", lambda c: pa.array(range(len(c)), pa.int64()), "int64"),
    "categorical": ("letter", lambda c: c.dictionary_encode(), "dictionary"),
    "double": ("prob", lambda c: c.cast(pa.float64()), "double"),
    "large strings": ("item_id", lambda c: c.cast(pa.large_string()), "large_string"),
    "wider severity": ("severity", lambda c: c.cast(pa.int64()), "int64"),
    "all NULL": ("reason", lambda c: pa.nulls(len(c)), "null"),
}


@pytest.mark.parametrize("drift", DRIFTS)
def test_p04_a_shard_with_another_type_is_named_with_its_column(shards, drift):
    column, change, found = DRIFTS[drift]

    def changed(table):
        return table.set_column(table.column_names.index(column), column, change(table[column]))

    rewrite(shards[1][1], changed)
    with pytest.raises(ContractError, match=rf"weather\.parquet: column '{column}' is {found}"):
        measure(shards)


def test_p04_a_column_too_many_or_too_few_is_named(shards):
    rewrite(shards[1][1], lambda table: table.append_column("model", pa.array(["m"] * len(table))))
    with pytest.raises(ContractError, match=r"weather\.parquet.*unknown \['model'\]"):
        measure(shards)
    rewrite(shards[1][1], lambda table: table.drop_columns(["model", "tied"]))
    with pytest.raises(ContractError, match=r"weather\.parquet.*misses columns \['tied'\]"):
        measure(shards)


def test_p04_ids_1_2_3_beside_n329479_stay_text(tmp_path):
    names = ["1", "2", "3", "n329479", "007", "7B"]
    items = [{**item(n, 2, 0), "item_id": name, "image_id": name} for n, name in enumerate(names)]
    clean = [r for i in items for r in score_rows(i, "clean", 0, [1.0, 0.0])]
    fog = [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, [1.0, 0.0])]
    numbers = [r for r in fog if r["item_id"].isdigit()]
    others = [r for r in fog if not r["item_id"].isdigit()]
    paths = write_shards(tmp_path / "model=007", {"clean": clean, "part-0": numbers, "part-1": others})
    tables = measure((write_items(tmp_path / "items.parquet", items), paths))
    assert sorted(set(tables.cells["item_id"].to_pylist())) == sorted(names)
    assert tables.cells.num_rows == 6 * 5 and tables.set_aside.num_rows == 0


def test_p05_null_options_cannot_be_written_and_missing_rows_are_not_padded(tmp_path, shards):
    items = [{**item(n, 2, 0), "options": None if n else ["a", "b"]} for n in range(2)]
    with pytest.raises(ContractError, match=r"items\.parquet.*(options|NULL)"):
        write_table(tmp_path / "bad" / "items.parquet", items, ITEMS)
    rewrite(shards[1][0], lambda table: table.slice(1))  # 3 options with 2 probabilities
    with pytest.raises(ContractError, match=r"2 options were scored \(index 1 to 2\), the item has 3.*clean\.parquet"):
        measure(shards)


def test_p06_a_stray_copy_in_the_folder_is_not_read(shards):
    before = measure(shards)
    folder = Path(shards[1][0]).parent
    shutil.copy(shards[1][1], folder / "weather (copy).parquet")
    (folder / "old.parquet").write_bytes(b"")
    after = measure(shards)
    assert after.cells.equals(before.cells) and after.summary.equals(before.summary)


def test_p06_fewer_models_than_files_is_refused(tmp_path, shards):
    paths = {"summary": [], "position": []}
    for model in ("one", "two"):
        tables = measure(shards, model)
        for name, contract in (("summary", SUMMARY), ("position", POSITION)):
            paths[name].append(str(tmp_path / f"{model}.{name}.parquet"))
            write_table(paths[name][-1], getattr(tables, name), contract)
    with pytest.raises(ContractError, match="each model needs one file"):
        result_tables(paths["summary"], paths["position"], ["one"], FOG["families"])
    both = result_tables(paths["summary"], paths["position"], ["two", "one"], FOG["families"])
    assert [row["model"] for row in both.table] == ["two", "one"]


def test_p07_a_model_whose_every_row_was_set_aside_is_an_error_with_the_reasons(tmp_path):
    items = [item(n, 2, 0) for n in range(3)]
    rows = {"clean": [r for i in items for r in score_rows(i, "clean", 0, [1.0, 0.0], "too large")]}
    paths = write_shards(tmp_path, rows)
    with pytest.raises(ContractError, match=r"model 'm': every row was set aside.*clean: too large \(15 rows\)"):
        measure((write_items(tmp_path / "items.parquet", items), paths))


def test_p07_tables_and_footers_hold_json_and_numbers_only(tmp_path, shards):
    """A model without one severity: empty fields, no word that is no number, and the footer is JSON for any reader."""
    rewrite(shards[1][1], lambda table: table.filter(pa.compute.not_equal(table["severity"], 3)))
    tables = measure(shards)
    write_table(tmp_path / "summary.parquet", tables.summary, SUMMARY, {"settings": {**FOG, "quota": None}})
    write_table(tmp_path / "position.parquet", tables.position, POSITION)
    paths = [[str(tmp_path / f"{name}.parquet")] for name in ("summary", "position")]
    result = result_tables(*paths, ["m"], FOG["families"])
    write_csv(tmp_path / "by_severity.csv", result.by_severity)
    text = (tmp_path / "by_severity.csv").read_text()
    assert not {"nan", "inf", "None"} & set(text.replace("\n", ",").split(","))
    assert [line.split(",")[1] for line in text.splitlines()[1:]] == ["1", "2", "3", "4", "5"]

    def no_number(word):
        raise AssertionError(f"{word} is not JSON")

    footer = pq.read_schema(tmp_path / "summary.parquet").metadata[b"vlmdx"]
    assert json.loads(footer, parse_constant=no_number)["settings"]["quota"] is None


def test_s01_names_with_slashes_dots_and_equal_stems_stay_apart(tmp_path):
    """Two models whose names are equal up to the last dot, items whose ids hold slashes and dots: nothing is merged."""
    found = {}
    for model, chosen in (("qwen2-5-vl-3b", [2.0, 0.0]), ("qwen2-5-vl-7b", [0.0, 2.0])):
        names = ["val/2014/a.jpg#1", "val/2014/a.jpg", "a.b.c", "../up", "x/"]
        items = [{**item(n, 2, 0), "item_id": name, "image_id": name} for n, name in enumerate(names)]
        rows = {"clean": [r for i in items for r in score_rows(i, "clean", 0, chosen)]}
        rows["weather"] = [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, chosen)]
        paths = write_shards(tmp_path / "Qwen2.5-VL-3B" / model, rows)
        tables = measure((write_items(tmp_path / f"{model}.items.parquet", items), paths), model)
        write_table(tmp_path / f"{model}.cells.parquet", tables.cells, CELLS)
        found[model] = read_table(tmp_path / f"{model}.cells.parquet", CELLS)
        assert sorted(set(found[model]["item_id"].to_pylist())) == sorted(names)
    assert [set(table["correct"].to_pylist()) for table in found.values()] == [{True}, {False}]
