"""results/accounting.csv of a small run whose every stage set something aside, and of runs that lost a row."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from vlmdx.reliability.accounting import KINDS, Line
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CELLS, CORRUPTED, GINI, ITEMS, REJECTED, SCORES, SELECTION, SET_ASIDE
from vlmdx.scoring.rotate import rotate_items
from vlmdx.scoring.shard import score_shard

from tests.reliability import scripts
from tests.scoring.stub import Stub, letters

FAMILIES = {"weather": ["fog"], "photometric": ["contrast", "brightness"]}
SHARDS = ("clean", *FAMILIES)
MODELS = ("voter", "guest")
SETTINGS = {
    "quotas": {"mine": 6, "theirs": None},
    "families": FAMILIES,
    "severities": [1, 5],
    "models": list(MODELS),
    "voters": ["voter"],
    "circular": list(MODELS),
}


def source(folder, rows):
    """A jsonl data set; every row has an image of its own."""
    folder.mkdir(parents=True)
    for number, row in enumerate(rows):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 48, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        row |= {"image": row.get("image", f"{number}.png")}
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


def row(number, options=("cat", "dog", "owl"), answer=0, **more):
    return {"id": f"q{number}", "question": f"What is {number}?", "options": list(options), "answer": answer, **more}


def answers(silent):
    """Logits of a model that prefers the last of three options and is not finite on the question ``silent``."""
    return lambda prompt, image, given: letters(A=float("nan") if silent in prompt else 0.0, B=0.5, C=1.0)


SILENT = {"voter": "What is 21?", "guest": "What is 20?"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two data sets, a pool, three shards, two models, a bench of four and its rotations; paths by input name."""
    here = tmp_path_factory.mktemp("a run (x)")
    mine = [row(n) for n in range(8)]
    mine += [row(8, answer=7), row(9, image="gone.png"), row(10, options=["cat"]), row(11, answer=None)]
    theirs = [row(n, answer=1) for n in range(20, 22)] + [row(22, ["cat", "None of the above", "owl"])]
    files = {}
    for name, rows in (("mine", mine), ("theirs", theirs)):
        folder = here / "datasets" / name
        files[name] = {kind: folder / f"{kind}.parquet" for kind in ("questions", "images", "rejected")}
        options = {"file": str(source(here / "sources" / name, rows))}
        settings = {"importer": "jsonl", "options": options, "seed": 0, "max_pixels": 10**6}
        scripts.run("import_dataset", {}, files[name], settings, dataset=name)
    pool = {kind: here / "pool" / f"{kind}.parquet" for kind in ("questions", "images", "rejected")}
    gathered = {kind: [files[name][kind] for name in files] for kind in ("questions", "images")}
    quotas = {"datasets": list(files), "quotas": SETTINGS["quotas"], "seed": 0}
    scripts.run("pool", gathered, pool, quotas)
    corrupted = [here / "corrupted" / f"{family}.parquet" for family in SHARDS]
    for family, path in zip(SHARDS, corrupted, strict=True):
        names = FAMILIES.get(family, [])
        how = {"corruptions": names, "severities": [1, 5] if names else [], "seed": 0, "reference_side": 40}
        scripts.run("corrupt", {"images": pool["images"]}, {"shard": path}, how)
    items = read_table(pool["questions"], ITEMS)
    ids = items["item_id"].to_pylist()
    wavering = [{"item_id": name, "gini": None if name == "theirs:q21" else 0.5, "voters": 1} for name in ids]
    write_table(here / "gini.parquet", wavering, GINI)
    chosen = [*ids[:2], "theirs:q20", "theirs:q22"]
    rows = [{"item_id": name, "gini": 0.5, "rank": n, "similarity": None} for n, name in enumerate(chosen)]
    write_table(here / "bench.parquet", rows, SELECTION)
    kept = [name in chosen for name in ids]
    turned, left_out = rotate_items(items.filter(pa.array(kept)), "pool")
    write_table(here / "rotations.parquet", turned, ITEMS)
    write_table(here / "left_out.parquet", left_out, REJECTED)

    def score(model, itemset, family, questions, selection=None):
        output = here / "scores" / model / itemset / f"{family}.parquet"
        asked = Stub(answers(SILENT[model]))
        shard = corrupted[SHARDS.index(family)]
        score_shard(asked, questions, shard, output, "letter", "{question}\n{options}", 64, "d", {}, selection)
        return output

    found = {
        **{kind: [files[name][kind] for name in files] for kind in ("questions", "rejected")},
        "pool": pool["questions"],
        "pool_images": pool["images"],
        "pool_rejected": pool["rejected"],
        "corrupted": corrupted,
        "votes": [score("voter", "pool", family, pool["questions"]) for family in SHARDS],
        "gini": here / "gini.parquet",
        "selection": here / "bench.parquet",
        "scores": [
            score(model, "bench", family, pool["questions"], here / "bench.parquet")
            for model in MODELS
            for family in SHARDS
        ],
        "rotated": [here / "rotations.parquet"],
        "left_out": [here / "left_out.parquet"],
        "circular": [score(model, "circular", "clean", here / "rotations.parquet") for model in MODELS],
        "cells": [],
        "set_aside": [],
    }
    for k, model in enumerate(MODELS):
        tables = ("cells", "trajectories", "summary", "position", "set_aside")
        outputs = {table: here / "reliability" / model / f"{table}.parquet" for table in tables}
        shards = found["scores"][k * len(SHARDS) : (k + 1) * len(SHARDS)]
        inputs = {"scores": shards, "questions": found["pool"], "selection": found["selection"]}
        how = {
            "families": FAMILIES,
            "severities": [1, 5],
            "bootstrap": 100,
            "confidence": 0.9,
            "ece_bins": 5,
            "seed": 0,
        }
        scripts.run("reliability", inputs, outputs, {**how, "letter_mass_min": 0.01}, model=model)
        found["cells"].append(outputs["cells"])
        found["set_aside"].append(outputs["set_aside"])
    return found


def account(run, folder, **changes):
    """Rows of the CSV file, as text."""
    scripts.run("accounting", {**run, **changes}, {"table": folder / "accounting.csv"}, SETTINGS)
    with (folder / "accounting.csv").open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_stage_balances_and_names_its_reasons(run, tmp_path):
    rows = account(run, tmp_path)
    numbers = {
        (r["stage"], r["name"], r["family"]): (int(r["rows_in"]), int(r["rows_out"]), json.loads(r["reasons"]))
        for r in rows
    }
    for row in rows:
        assert int(row["rows_in"]) == int(row["rows_out"]) + int(row["set_aside"])
        assert int(row["set_aside"]) == sum(json.loads(row["reasons"]).values())
    read, items, reasons = numbers["import", "mine", ""]
    assert (read, items, sum(reasons.values())) == (12, 9, 3) and len(reasons) == 3
    assert numbers["import", "theirs", ""] == (3, 3, {})
    no_gold = "no gold answer in the source; the pool needs one to know what is right"
    assert numbers["pool", "mine", ""] == (9, 6, {no_gold: 1, "not drawn": 2})
    assert numbers["pool", "theirs", ""] == (3, 3, {})
    assert [numbers["corrupt", "pool", f] for f in SHARDS] == [(9, 9, {}), (18, 18, {}), (36, 36, {})]
    nan = "non-finite logits"
    assert numbers["score pool", "voter", "photometric"] == (36, 32, {nan: 4})
    assert numbers["select", "pool", ""] == (9, 4, {"no voter has a whole trajectory": 1, "not chosen": 4})
    assert numbers["score bench", "voter", "weather"] == (8, 8, {})
    assert numbers["score bench", "guest", "clean"] == (4, 3, {nan: 1})
    assert numbers["reliability", "voter", "photometric"] == (16, 16, {})
    assert numbers["reliability", "guest", "weather"] == (8, 6, {f"clean: {nan}": 2})
    said, left, reasons = numbers["rotate", "bench", ""]
    assert (said, left) == (4, 3) and "does not stand last" in next(iter(reasons))
    assert numbers["score circular", "voter", "clean"] == (6, 6, {})
    assert numbers["score circular", "guest", "clean"] == (6, 4, {nan: 2})
    assert len(rows) == 4 + 3 + 3 + 1 + 6 + 4 + 1 + 2


def test_without_rotations_there_is_no_such_row(run, tmp_path):
    settings = {**SETTINGS, "circular": []}
    nothing = {"rotated": [], "left_out": [], "circular": []}
    scripts.run("accounting", {**run, **nothing}, {"table": tmp_path / "a.csv"}, settings)
    assert "rotat" not in (tmp_path / "a.csv").read_text() and "circular" not in (tmp_path / "a.csv").read_text()


def cut(path, contract, folder, keep, metadata=None):
    """A copy of an artifact with the rows that ``keep`` returns."""
    table = read_table(path, contract)
    rows = keep(table.to_pylist())
    made = json.loads(table.schema.metadata[b"vlmdx"])
    write_table(folder / path.name, pa.Table.from_pylist(rows, contract.schema), contract, {**made, **(metadata or {})})
    return folder / path.name


def lost(run, tmp_path, key, contract, keep, place=None, **metadata):
    """Error of the accounting with one changed file, whose name it must give."""
    path = run[key] if place is None else run[key][place]
    changed = cut(path, contract, tmp_path, keep, metadata)
    whole = changed if place is None else [changed if k == place else p for k, p in enumerate(run[key])]
    with pytest.raises(ContractError) as caught:
        account(run, tmp_path, **{key: whole})
    assert str(changed) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "contract", "place", "keep", "message"),
    [
        ("questions", ITEMS, 0, slice(2, None), "2 are lost"),
        ("rejected", REJECTED, 0, slice(2, None), "2 are lost"),
        ("pool", ITEMS, None, slice(1, None), "1 are lost"),
        ("pool_rejected", REJECTED, None, slice(1, None), "1 are lost"),
        ("corrupted", CORRUPTED, 1, slice(1, None), "there are {'fog 1': 8}"),
        ("votes", SCORES, 1, slice(3, None), "1 are lost"),
        ("scores", SCORES, 2, slice(1, None), "not as many rows as options"),
        ("cells", CELLS, 1, slice(1, None), "1 are lost"),
        ("set_aside", SET_ASIDE, 1, slice(1, None), "1 are lost"),
        ("left_out", REJECTED, 0, slice(1, None), "1 are lost"),
        ("circular", SCORES, 1, slice(3, None), "1 are lost"),
    ],
)
def test_a_lost_row_stops_with_the_name_of_the_file(run, tmp_path, key, contract, place, keep, message):
    assert message in lost(run, tmp_path, key, contract, lambda rows: rows[keep], place)


def test_rows_that_nobody_asked_for_stop_it_too(run, tmp_path):
    def renamed(name):
        return lambda rows: [{**row, name: "else:1"} if k < 3 else row for k, row in enumerate(rows)]

    assert "image 'else:1' is not in" in lost(
        run, tmp_path, "corrupted", CORRUPTED, lambda rows: [{**rows[0], "image_id": "else:1"}, *rows[1:]], 1
    )
    assert "item 'else:1' is not in" in lost(run, tmp_path, "votes", SCORES, renamed("item_id"), 0)
    assert "frost at severity 1 is not configured" in lost(
        run, tmp_path, "scores", SCORES, lambda rows: [{**r, "corruption": "frost"} for r in rows[:3]] + rows[3:], 1
    )
    half = {"reason": "why", "prob": None}
    assert "rows with numbers and rows with a reason" in lost(
        run, tmp_path, "scores", SCORES, lambda rows: [{**rows[0], **half}, *rows[1:]], 1
    )
    message = lost(run, tmp_path, "questions", ITEMS, lambda rows: rows, 0, rows=11)
    assert "11 x source row to do; 9 came out, 3 were set aside with a reason, 1 are too many" in message


def test_an_import_that_did_not_count_is_refused(run, tmp_path):
    table = pq.read_table(run["questions"][0])
    write_table(tmp_path / "questions.parquet", table.replace_schema_metadata({}), ITEMS, {})
    with pytest.raises(ContractError, match=r"questions\.parquet: the footer does not say how many"):
        account(run, tmp_path, questions=[tmp_path / "questions.parquet", run["questions"][1]])


def test_rare_reasons_are_added_up():
    reasons = {f"reason {chr(97 + n)}": 30 - n for n in range(25)}
    told = json.loads(Line("import", "d", "", "source row", sum(reasons.values()), 0, "x", reasons).row()["reasons"])
    assert len(told) == KINDS + 1 and told["5 other kinds"] == 10 + 9 + 8 + 7 + 6
