"""Public trouble reports M07, M08, P01 to P07 as far as they concern the tables."""

import csv
import shutil

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.reliability import reliability_tables, result_tables, write_csv
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import ITEMS, POSITION, SCORES, SUMMARY

from tests.reliability.synthetic_scores import (
    FAMILIES,
    SETTINGS,
    SEVERITIES,
    item,
    score_rows,
    write_items,
    write_shards,
)

FOG = {**SETTINGS, "families": {"weather": ["fog"]}}
RIGHT, WRONG = [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]


@pytest.fixture
def small():
    """Six items of three options, all right on clean images and wrong in fog."""
    items = [item(n, 3, 0) for n in range(6)]
    clean = [r for i in items for r in score_rows(i, "clean", 0, RIGHT)]
    fog = [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, WRONG)]
    return items, {"clean": clean, "weather": fog}


def run(tmp_path, items, shards, **changes):
    paths = write_shards(tmp_path / "scores", shards)
    return reliability_tables("tiny", paths, write_items(tmp_path / "items.parquet", items), **{**FOG, **changes})


def value(tables, metric, scope="all", level="all"):
    rows = tables.summary.to_pylist()
    return next(r["value"] for r in rows if (r["scope"], r["level"], r["metric"]) == (scope, level, metric))


def test_m07_exact_tie_follows_the_scorers_choice_wherever_it_stands(tmp_path, small):
    items, shards = small
    found = []
    for chosen in (0, 1):
        rows = [r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, [1.0, 1.0, 0.0])]
        for row in rows:
            row["chosen"] = row["option_index"] == chosen
        tables = run(tmp_path / str(chosen), items, {**shards, "weather": rows})
        found.append((value(tables, "accuracy_corrupted"), value(tables, "tied")))
    assert found == [(1.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize("reason", ["logits are not finite", None])
def test_m08_non_finite_scores_are_set_aside_and_never_right(tmp_path, small, reason):
    items, shards = small
    bad = {"syn:1", "syn:2"}
    for row in shards["weather"]:
        if row["item_id"] in bad:
            # With a reason the scorer emptied the numbers; without one an infinity slipped through.
            numbers = ("logit", "logprob", "prob", "logprob_full", "letter_mass", "chosen", "tied")
            row |= dict.fromkeys(numbers) if reason else {"logprob": -np.inf, "prob": 0.0, "chosen": True}
            row["reason"] = reason
    tables = run(tmp_path, items, shards)
    assert not bad & set(tables.cells["item_id"].to_pylist())
    assert value(tables, "items") == 4 and value(tables, "cells") == 20
    assert value(tables, "cells_set_aside") == value(tables, "set_aside_not_scored") == 10
    assert value(tables, "accuracy_corrupted") == 0
    assert set(tables.set_aside["reason"].to_pylist()) == {reason or "score is not finite"}


def test_m08_clean_image_that_was_not_scored_takes_its_cells_along(tmp_path, small):
    items, shards = small
    shards["clean"] = [r for i in items[1:] for r in score_rows(i, "clean", 0, RIGHT)]
    shards["clean"] += score_rows(items[0], "clean", 0, RIGHT, reason="too large")
    tables = run(tmp_path, items, shards)
    assert tables.set_aside["reason"].unique().to_pylist() == ["clean: too large"]
    assert value(tables, "set_aside_clean_not_scored") == 5 and value(tables, "cells") == 25
    # Letter preference counts usable answers only.
    assert tables.position["answers"].unique().to_pylist() == [5]


def test_m04_items_without_gold_are_set_aside_and_not_wrong(tmp_path, small):
    items, shards = small
    items = [*items, item(9, 3, None)]
    shards["clean"] += score_rows(items[-1], "clean", 0, RIGHT)
    shards["weather"] += [r for s in SEVERITIES for r in score_rows(items[-1], "fog", s, RIGHT)]
    tables = run(tmp_path, items, shards)
    assert value(tables, "accuracy_clean") == 1 and value(tables, "set_aside_no_gold") == 5


def test_every_row_set_aside_fails_and_names_the_model(tmp_path, small):
    items, shards = small
    shards["weather"] = [
        r for i in items for s in SEVERITIES for r in score_rows(i, "fog", s, WRONG, reason="too large")
    ]
    with pytest.raises(ContractError, match=r"'tiny': every row was set aside.*too large \(30 rows\)"):
        run(tmp_path, items, shards)


def test_rows_in_are_rows_measured_plus_rows_set_aside(tmp_path, small):
    items, shards = small
    shards["weather"] = [r for r in shards["weather"] if (r["item_id"], r["severity"]) != ("syn:3", 2)]
    tables = run(tmp_path, items, shards)
    assert tables.cells.num_rows + tables.set_aside.num_rows == 6 * 5
    (aside,) = tables.set_aside.to_pylist()
    assert (aside["item_id"], aside["severity"], aside["code"]) == ("syn:3", 2, "missing")
    # A path with a hole is not judged, but counted.
    assert tables.trajectories.num_rows == 5 and value(tables, "trajectories_incomplete") == 1


@pytest.mark.parametrize("damage", ["empty", "cut", "absent"])
def test_p01_half_written_shard_is_named(tmp_path, small, damage):
    items, shards = small
    paths = write_shards(tmp_path / "scores", shards)
    bad = tmp_path / "scores" / "weather.parquet"
    whole = bad.read_bytes()
    bad.unlink()
    if damage != "absent":
        bad.write_bytes(b"" if damage == "empty" else whole[:-100])
    with pytest.raises(ContractError, match=r"weather\.parquet: not a readable scores file"):
        reliability_tables("tiny", paths, write_items(tmp_path / "items.parquet", items), **FOG)


def test_p02_a_locked_database_beside_the_results_does_not_matter(tmp_path, small, monkeypatch):
    items, shards = small
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("results.duckdb") as held:
        held.execute("CREATE TABLE t AS SELECT 1")
        first, second = (run(tmp_path / name, items, shards) for name in ("one", "two"))
    assert first.summary.equals(second.summary)
    assert {p.name for p in tmp_path.iterdir()} == {"results.duckdb", "one", "two"}


def test_p03_no_nan_in_any_table_and_missing_is_null(tmp_path, small):
    items, shards = small
    tables = run(tmp_path, items, shards)
    for name in ("cells", "trajectories", "summary", "position", "set_aside"):
        for column in getattr(tables, name).itercolumns():
            if pa.types.is_floating(column.type):
                assert not np.isnan(column.drop_null().to_numpy()).any()
    assert value(tables, "ras_wc") is None and value(tables, "ras_given_wrong_clean") is None


def test_p04_paths_are_data_and_never_patterns_or_partitions(tmp_path, small):
    items, shards = small
    odd = tmp_path / "rev=main" / "model=007" / 'it\'s "$HOME" {a} [b] *'
    paths = write_shards(odd, shards)
    # What the brackets and the star would match as a pattern must not be read as well.
    write_shards(tmp_path / "rev=main" / "model=007" / 'it\'s "$HOME" {a} b c', shards)
    tables = reliability_tables("tiny", paths, write_items(odd / "items.parquet", items), **FOG)
    assert value(tables, "cells") == 30
    assert tables.cells["model"].unique().to_pylist() == ["tiny"]


def test_text_that_looks_like_sql_is_only_text(tmp_path, small, monkeypatch):
    """Nothing of a data set, a path or a model's name is ever run as SQL."""
    monkeypatch.chdir(tmp_path)
    items, shards = small
    evil = "'); COPY (SELECT 42) TO 'made.csv'; DROP TABLE cells; --"
    for row in [*items, *shards["clean"], *shards["weather"]]:
        row["item_id"] = f"{row['item_id']}{evil}"
    for row in items:
        row |= {"image_id": f"{row['image_id']}{evil}", "dataset": evil, "category": evil, "question": evil}
    paths = write_shards(tmp_path / "a'; COPY (SELECT 1) TO 'made.csv' --", shards)
    tables = reliability_tables(evil, paths, write_items(tmp_path / "items.parquet", items), **FOG)
    assert value(tables, "cells") == 30 and set(tables.cells["model"].to_pylist()) == {evil}
    assert {name[5:] for name in tables.cells["item_id"].to_pylist()} == {evil}
    assert not (tmp_path / "made.csv").exists()


def test_p04_ids_stay_strings(tmp_path, small):
    items, shards = small
    names = {"syn:0": "007", "syn:1": "n329479", "syn:2": "1e3"}
    for row in [*items, *shards["clean"], *shards["weather"]]:
        row["item_id"] = names.get(row["item_id"], row["item_id"])
    assert set(names.values()) <= set(run(tmp_path, items, shards).cells["item_id"].to_pylist())


def test_p04_other_column_type_names_file_and_column(tmp_path, small):
    items, shards = small
    paths = write_shards(tmp_path / "scores", shards)
    table = pq.read_table(paths[1])
    at = table.schema.get_field_index("letter")
    pq.write_table(table.set_column(at, "letter", table["letter"].dictionary_encode()), paths[1])
    with pytest.raises(ContractError, match=r"weather\.parquet: column 'letter' is dictionary"):
        reliability_tables("tiny", paths, write_items(tmp_path / "items.parquet", items), **FOG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(), r"2 options were scored \(index 0 to 1\), the item has 3"),
        (lambda rows: rows[-3].update(option_index=3), r"3 options were scored \(index 1 to 3\), the item has 3"),
        (lambda rows: rows[-3].update(is_gold=False), "is_gold marks option none"),
        (lambda rows: [rows[-3].update(is_gold=False), rows[-1].update(is_gold=True)], "is_gold marks option 2"),
        (lambda rows: rows[-2].update(chosen=False), "0 options are chosen"),
        (lambda rows: rows[-3].update(chosen=True), "2 options are chosen"),
        (lambda rows: [rows[-3].update(chosen=True), rows[-2].update(chosen=False)], "not the largest probability"),
        (lambda rows: rows[-2].update(prob=0.9), "probabilities of the options sum to"),
        (lambda rows: [row.update(item_id="syn:gone") for row in rows[-3:]], "'syn:gone'"),
        (lambda rows: [row.update(severity=6) for row in rows[-3:]], "earlier configuration"),
        (lambda rows: [row.update(corruption="frost") for row in rows[-3:]], "frost at severity 5"),
    ],
)
def test_p05_broken_promises_name_item_and_file(tmp_path, small, change, message):
    items, shards = small
    change(shards["weather"])
    with pytest.raises(ContractError, match=message) as caught:
        run(tmp_path, items, shards)
    assert "weather.parquet" in str(caught.value) and "syn:" in str(caught.value)


@pytest.mark.parametrize("options", [[], ["only"]])
def test_p05_item_of_fewer_than_two_options_is_refused(tmp_path, small, options):
    items, shards = small
    items.append({**item(9, 2, 0), "options": options})
    with pytest.raises(ContractError, match=r"fewer than two options.*'syn:9'"):
        run(tmp_path, items, shards)


def test_p06_copied_shard_is_refused_and_both_files_named(tmp_path, small):
    items, shards = small
    paths = write_shards(tmp_path / "scores", shards)
    copy = tmp_path / "scores" / "weather (copy).parquet"
    shutil.copy(paths[1], copy)
    questions = write_items(tmp_path / "items.parquet", items)
    with pytest.raises(ContractError, match=r"scored 2 times.*weather \(copy\)\.parquet.*weather\.parquet"):
        reliability_tables("tiny", [*paths, str(copy)], questions, **FOG)
    with pytest.raises(ContractError, match=r"scored 2 times.*weather\.parquet"):
        reliability_tables("tiny", [*paths, paths[1]], questions, **FOG)


def test_p06_shard_of_an_earlier_configuration_is_refused(tmp_path, small):
    items, shards = small
    with pytest.raises(ContractError, match=r"fog at severity 4.*weather\.parquet"):
        run(tmp_path, items, shards, severities=[1, 2, 3])


def two_models(tmp_path, items, shards):
    paths = {}
    for model in ("a", "b"):
        tables = reliability_tables(
            model, write_shards(tmp_path / model, shards), write_items(tmp_path / "items.parquet", items), **FOG
        )
        for name, contract in (("summary", SUMMARY), ("position", POSITION)):
            paths[model, name] = str(tmp_path / f"{model}.{name}.parquet")
            write_table(paths[model, name], getattr(tables, name), contract)
    return paths


def test_p06_tables_refuse_a_model_too_many_too_few_or_twice(tmp_path, small):
    paths = two_models(tmp_path, *small)
    positions = [paths["a", "position"], paths["b", "position"]]
    for summaries, models in (
        ([paths["a", "summary"], paths["b", "summary"]], ["a"]),
        ([paths["a", "summary"]], ["a", "b"]),
        ([paths["a", "summary"], paths["a", "summary"]], ["a", "b"]),
    ):
        with pytest.raises(ContractError, match="each model needs one file"):
            result_tables(summaries, positions, models, FOG["families"])


def test_p07_missing_is_an_empty_field_and_nan_is_refused(tmp_path, small):
    paths = two_models(tmp_path, *small)
    tables = result_tables(
        [paths["a", "summary"], paths["b", "summary"]],
        [paths["b", "position"], paths["a", "position"]],
        ["b", "a"],
        FOG["families"],
    )
    write_csv(tmp_path / "t.csv", tables.table)
    with (tmp_path / "t.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [r["model"] for r in rows] == ["b", "a"]
    assert rows[0]["ras_wc"] == "" and rows[0]["share_wc"] == "0.0" and rows[0]["items"] == "6"
    assert "nan" not in (tmp_path / "t.csv").read_text().lower()
    with pytest.raises(ContractError, match=r"\['ras'\] of model 'x' is not finite"):
        write_csv(tmp_path / "bad.csv", [{"model": "x", "ras": float("nan")}])
    assert not (tmp_path / "bad.csv").exists()


def test_p07_severity_that_a_model_lacks_keeps_its_row(tmp_path, small):
    items, shards = small
    shards["weather"] = [r for r in shards["weather"] if r["severity"] != 3]
    tables = run(tmp_path, items, shards)
    assert value(tables, "ras", "severity", "3") is None and value(tables, "cells", "severity", "3") == 0
    assert value(tables, "set_aside_missing", "severity", "3") == 6
    assert tables.trajectories.num_rows == 0 and value(tables, "transient") is None


def test_contracts_hold_for_what_is_read_back(tmp_path, small):
    """The synthetic shards keep the contracts; otherwise nothing above would mean anything."""
    items, shards = small
    for path in write_shards(tmp_path, shards):
        assert pq.read_schema(path).names == SCORES.schema.names
    assert pq.read_schema(write_items(tmp_path / "items.parquet", items)).names == ITEMS.schema.names
    assert sum(map(len, FAMILIES.values())) == 19
