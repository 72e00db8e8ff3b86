"""The discovery target and the joint table from drawn scenes to figures, and what a method or a seed more would run."""

import json
import shutil

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CELLS, EFFECTS, ITEMS, PRIMITIVES, REJECTED, ROLLOUTS, SET_ASIDE, TRANSFER

from tests.reliability import scripts
from tests.workflow.project import copy_project, planned, run

CONFIG = "tests/workflow/discovery.yaml"
RUN, MODEL, METHODS = "results/discovery/qwen", "qwen-demo", ["zero-shot", "rl"]
HELD_OUT, TURNS, TRAINED, STEPS, STEP = 16, 3, 8, 3, 8
DRAWING = {"replicates": 100, "confidence": 0.95, "seed": 0}
EVERYTHING = "all discovered questions"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of the target."""
    folder = copy_project(tmp_path_factory.mktemp("discovery") / "run")
    done = run(folder, "--quiet", "rules", "--", "discovery", config=CONFIG)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def joined(folder, tmp_path_factory):
    """The joint table on top of it, in a copy."""
    joined = tmp_path_factory.mktemp("joined") / "run"
    shutil.copytree(folder, joined, symlinks=True)
    done = run(joined, "--quiet", "rules", "--", "joint", config=CONFIG)
    assert done.returncode == 0, done.stdout
    return joined


@pytest.fixture
def edited(folder):
    """A function that writes the config with another discovery block and returns its path."""

    def write(**changes):
        config = yaml.safe_load((folder / CONFIG).read_text())
        config["discovery"] |= changes
        (folder / "edited.yaml").write_text(yaml.safe_dump(config))
        return "edited.yaml"

    return write


def rollouts(folder, phase=None):
    frame = read_table(folder / RUN / "rollouts.parquet", ROLLOUTS).to_pandas()
    return frame if phase is None else frame[frame["phase"] == phase]


def failed(frame):
    return frame[(frame["valid"] == True) & (frame["correct"] == False)]  # noqa: E712 -- NULL is neither


def test_all_methods_ask_as_many_questions_about_the_same_held_out_images(folder):
    held, trained = rollouts(folder, "held-out"), rollouts(folder, "train")
    for method in METHODS:
        own = held[held["method"] == method]
        assert own.groupby("image_id")["turn"].apply(sorted).tolist() == [list(range(TURNS))] * HELD_OUT
    assert held.groupby("image_id")["method"].nunique().eq(len(METHODS)).all()
    assert trained["step"].value_counts().to_dict() == dict.fromkeys(range(1, STEPS + 1), STEP)
    assert set(trained["method"]) == {"rl"} and trained["image_id"].nunique() <= TRAINED
    assert not set(held["image_id"]) & set(trained["image_id"])
    assert (held["criterion"].isna() == (held["valid"] != False)).all()  # noqa: E712
    assert (held["answer"].notna() == (held["valid"] == True)).all()  # noqa: E712


def test_of_a_finished_job_its_declared_outputs_are_left_and_nothing_else(folder):
    left = {method: {path.name for path in (folder / RUN / method / "0").iterdir()} for method in METHODS}
    assert left["zero-shot"] == {"held_out.parquet"}
    assert left["rl"] == {"training.parquet", "checkpoint", "history", "held_out.parquet"}
    # Snakemake leaves its own mark in a folder that is an output.
    assert {path.name for path in (folder / RUN / "rl/0/history").iterdir()} == {"log.csv", ".snakemake_timestamp"}


def test_the_table_has_a_row_per_method_with_equal_numbers_of_questions(folder):
    table = pd.read_csv(folder / "results/fdr_table.csv").set_index("method")
    assert table.index.tolist() == METHODS and (table["questions"] == HELD_OUT * TURNS).all()
    held = rollouts(folder, "held-out")
    for method, line in table.iterrows():
        own = held[held["method"] == method]
        assert line["fdr"] == pytest.approx(len(failed(own)) / len(own), rel=1e-5)
        assert line["validity"] == pytest.approx((own["valid"] == True).mean(), rel=1e-5)  # noqa: E712
    assert pd.isna(table.loc["zero-shot", "fdr_gain"])
    assert table.loc["rl", "fdr_gain"] == pytest.approx(
        table.loc["rl", "fdr"] - table.loc["zero-shot", "fdr"], abs=1e-5
    )


def test_the_taxonomy_tells_of_every_valid_question(folder):
    told = json.loads((folder / RUN / "taxonomy.json").read_text())
    held = rollouts(folder, "held-out")
    decided = held[held["correct"].notna()].drop_duplicates(["image_id", "question"])
    assert told["run"] == "qwen" and told["questions"]["distinct"] == len(decided)
    assert told["questions"]["used"] + told["questions"]["without_skills"] == len(decided)
    assert told["failed"] == len(failed(held).drop_duplicates(["image_id", "question"]))
    assert told["meta_skills"]
    valid = rollouts(folder)
    valid = valid[valid["valid"] == True].drop_duplicates(["image_id", "question"])  # noqa: E712
    named = read_table(folder / RUN / "primitives.parquet", PRIMITIVES).to_pandas()
    assert set(zip(named["image_id"], named["question"], strict=True)) == set(
        zip(valid["image_id"], valid["question"], strict=True)
    )


def test_every_stage_accounts_for_its_questions(folder):
    lines = pd.read_csv(folder / "results/discovery/accounting.csv")
    first = lines.set_index(["stage", "method"]).loc[[("validity, held-out", method) for method in METHODS]]
    assert (first["rows_in"] == HELD_OUT * TURNS).all()
    assert (lines["rows_in"] == lines["rows_out"] + lines["set_aside"]).all()


def test_figures_and_the_sheet_for_a_person(folder):
    for name in ("taxonomy", "failure_modes", "curriculum", "training"):
        assert (folder / RUN / f"{name}.svg").stat().st_size > 2_000
        assert (folder / RUN / f"{name}.png").stat().st_size > 5_000
    assert (folder / RUN / "spot_check.png").stat().st_size > 5_000
    assert (folder / "results/figures/fdr.png").stat().st_size > 5_000
    assert "<html" in (folder / RUN / "taxonomy.html").read_text()
    assert len(pd.read_csv(folder / RUN / "spot_check/sheet.csv")) == 6


def test_nothing_to_be_done_after_a_finished_run(folder):
    assert planned(folder, "discovery", config=CONFIG) == {}
    again = run(folder, "--", "discovery", config=CONFIG)
    assert again.returncode == 0 and "Nothing to be done" in again.stdout


TOLD = {
    "join_rollouts": 1,
    "primitives": 1,
    "vocabulary": 1,
    "taxonomy": 1,
    "shared_skills": 1,
    "fdr_table": 1,
    "blind_control": 1,
    "spot_check": 1,
    "discovery_accounting": 1,
    **{f"plot_{name}": 1 for name in ("taxonomy", "failure_modes", "curriculum", "fdr")},
    "discovery": 1,
}


def test_a_new_method_runs_alone_and_what_tells_of_all(folder, edited):
    plan = planned(folder, "discovery", config=edited(methods=[*METHODS, "sft", "conme"]))
    assert plan == {"train_questioner": 2, "ask_held_out": 2, **TOLD}


def test_a_new_seed_runs_alone_and_what_tells_of_all(folder, edited):
    plan = planned(folder, "discovery", config=edited(seeds=[0, 1]))
    assert plan == {"train_questioner": 1, "ask_held_out": 2, "plot_training": 1, **TOLD}


def test_another_reward_is_graded_from_the_rollouts_without_training(folder, edited):
    plan = planned(folder, "discovery", config=edited(rewards={"strict": {"penalty": 1.0}}))
    assert plan == {"recompute_rewards": 1, "discovery": 1}


def test_another_threshold_of_failure_modes_asks_nothing_again(folder, edited):
    plan = planned(folder, "discovery", config=edited(taxonomy={"minimum": 3, "alpha": 0.01}))
    assert not {"train_questioner", "ask_held_out", "join_rollouts", "primitives", "vocabulary"} & set(plan)
    assert plan["taxonomy"] == 1


def test_without_a_run_the_targets_say_what_is_missing_and_others_plan(folder, edited):
    config = edited(runs={})
    for target, said in (("discovery", "name an answerer, its data set and a verifier"), ("joint", "discovery.runs")):
        done = run(folder, "-n", "--quiet", "rules", "--", target, config=config)
        assert done.returncode != 0 and "config: discovery.runs: " in done.stdout and said in done.stdout
    assert planned(folder, "results/ras_table.csv", config=config)["ras_table"] == 1


def test_the_joint_table_has_a_row_for_the_model_and_each_failure_mode(joined):
    table = pd.read_csv(joined / "results/joint_table.csv")
    modes = pd.read_csv(joined / RUN / "failure_modes.csv")
    assert set(table["model"]) == {MODEL} and table["mode"].iloc[0] == EVERYTHING
    assert set(table["mode"]) - {EVERYTHING} <= set(modes.loc[modes["failure_mode"], "mode"])
    found = failed(rollouts(joined, "held-out")).drop_duplicates(["image_id", "question"])
    items = read_table(joined / "results/datasets/discovered-qwen/items.parquet", ITEMS)
    assert table.loc[0, "questions"] == items.num_rows == len(found) > 0
    # The run's own answerer fails everything that it was found to fail.
    asked = read_table(joined / RUN / f"transfer/{MODEL}.parquet", TRANSFER).to_pandas()
    assert (asked["correct"] == False).all() and len(asked) == len(found)  # noqa: E712
    assert table.loc[0, "failed"] == 1
    own = joined / f"results/joint/{MODEL}/discovered-qwen"
    cells = read_table(own / "cells.parquet", CELLS)
    assert cells.num_rows + read_table(own / "set_aside.parquet", SET_ASIDE).num_rows == items.num_rows
    effects = read_table(own / "effects.parquet", EFFECTS)["item_id"].unique().to_pylist()
    aside = read_table(own / "rejected.parquet", REJECTED)["item_id"].to_pylist()
    assert sorted([*effects, *aside]) == sorted(items["item_id"].to_pylist())
    assert table.loc[0, "dissected"] == len(effects)
    assert (joined / "results/figures/joint.png").stat().st_size > 5_000


def test_nothing_to_be_done_after_the_joint_table(joined):
    assert planned(joined, "joint", "discovery", config=CONFIG) == {}


# ---- a run that finds nothing ---------------------------------------------------------------------------------------


@pytest.fixture
def lucky(folder, tmp_path):
    """The run's rollouts as if every answer had been right."""
    table = read_table(folder / RUN / "rollouts.parquet", ROLLOUTS)
    right = [{**row, "correct": row["correct"] is not None or None} for row in table.to_pylist()]
    write_table(tmp_path / "rollouts.parquet", right, ROLLOUTS)
    return tmp_path / "rollouts.parquet"


def inputs(folder, path):
    scenes = folder / "results/demo/scenes/sceneGraphs.json"
    return {"images": folder / "results/datasets/shapes/images.parquet", "graphs": scenes, "rollouts": path}


def test_where_nothing_failed_the_tables_say_so(folder, lucky, tmp_path):
    given = {name: folder / RUN / f"{name}.parquet" for name in ("primitives", "skills")}
    shared = {name: folder / f"results/discovery/{name}" for name in ("vocabulary.parquet", "stability.csv")}
    scripts.run(
        "taxonomy",
        {"rollouts": lucky, "primitives": given["primitives"]} | {k.partition(".")[0]: p for k, p in shared.items()},
        {
            "taxonomy": tmp_path / "taxonomy.json",
            "skills": tmp_path / "skills.parquet",
            "failure_modes": tmp_path / "failure_modes.csv",
            "curriculum": tmp_path / "curriculum.csv",
        },
        {"minimum": 2, "alpha": 0.9, **DRAWING},
        run="qwen",
    )
    told = json.loads((tmp_path / "taxonomy.json").read_text())
    assert told["failed"] == told["failure_rate"] == 0 and told["failure_modes"] == []
    assert pd.read_csv(tmp_path / "curriculum.csv")["first_step"].isna().all()
    settings = {"methods": METHODS, "runs": ["qwen"], "encoder": {"encoder": "minilm", "revision": None}, **DRAWING}
    scripts.run(
        "fdr_table", {"rollouts": [lucky], "skills": [given["skills"]]}, {"table": tmp_path / "fdr.csv"}, settings
    )
    table = pd.read_csv(tmp_path / "fdr.csv")
    assert (table[["fdr", "fdr_valid"]] == 0).all(axis=None) and table["semantic_diversity"].isna().all()
    figure = {"svg": tmp_path / "fdr.svg", "png": tmp_path / "fdr.png"}
    scripts.run("plot_fdr", {"table": tmp_path / "fdr.csv"}, figure, {"methods": METHODS})
    figure = {"svg": tmp_path / "modes.svg", "png": tmp_path / "modes.png"}
    given = {"failure_modes": tmp_path / "failure_modes.csv"}
    scripts.run("plot_failure_modes", given, figure, {"methods": METHODS}, run="qwen")


def test_where_nothing_failed_there_is_no_data_set_to_join(folder, lucky, tmp_path):
    outputs = {"questions": tmp_path / "dataset/questions.jsonl", "images": tmp_path / "dataset/images"}
    with pytest.raises(ValueError, match="a run that found nothing makes no data set"):
        scripts.run("export_discovered", inputs(folder, lucky), outputs, {"seed": 0, "dataset": "shapes"}, run="qwen")
    assert not (tmp_path / "dataset").exists()


def test_where_nothing_was_valid_nothing_is_classified(folder, tmp_path):
    nothing = {"answer": None, "answer_logprob": None, "correct": None, "reference": None, "judgement_detail": None}
    invalid = {"valid": False, "criterion": "grammatical", **nothing}
    rows = read_table(folder / RUN / "rollouts.parquet", ROLLOUTS).to_pylist()
    write_table(
        tmp_path / "r.parquet", pa.Table.from_pylist([row | invalid for row in rows], ROLLOUTS.schema), ROLLOUTS
    )
    with pytest.raises(ContractError, match="no question of qwen was valid; nothing can be classified"):
        scripts.run(
            "primitives", inputs(folder, tmp_path / "r.parquet"), {"table": tmp_path / "p.parquet"}, {}, run="qwen"
        )


def test_where_no_discovered_question_has_an_operation_nothing_is_dissected_and_all_is_set_aside(joined, tmp_path):
    """A run that fails at counting alone, or one of photos without scene graphs: its joint table has no pathway."""
    source = joined / "results/datasets/discovered-qwen"
    items = [row | {"operation": None} for row in read_table(source / "items.parquet", ITEMS).to_pylist()]
    write_table(tmp_path / "items.parquet", items, ITEMS)
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("effects", "rejected")}
    given = {"questions": tmp_path / "items.parquet", "images": source / "images.parquet"}
    scripts.run("discovered_effects", given, outputs, {}, model=MODEL, dataset="discovered-qwen")
    assert read_table(outputs["effects"], EFFECTS).num_rows == 0
    aside = read_table(outputs["rejected"], REJECTED)["item_id"].to_pylist()
    assert aside == [row["item_id"] for row in items]
