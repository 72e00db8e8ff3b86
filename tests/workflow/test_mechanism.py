"""The mechanism target from drawn scenes to failure modes and figures, and what an operation more would run."""

import itertools

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from vlmdx.mechanism.sample import IDENTITY_ANSWER, IDENTITY_OBJECT, KINDS, MEAN_ABLATION, MLP_OBJECT
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS, ITEMS, REJECTED

from tests.workflow.project import copy_project, planned, run

CONFIG = "tests/workflow/mechanism.yaml"
MODELS, OPERATIONS, DRAWN = ("qwen-demo", "llava-demo"), ("choose", "filter"), 12
FIGURES = ("layer_curves", "effect_heatmaps", "effect_forest", "overlays")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run."""
    folder = copy_project(tmp_path_factory.mktemp("mechanism"))
    done = run(folder, "--quiet", "rules", "--", "mechanism", config=CONFIG)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def edited(folder):
    """A function that writes the config with another mechanism block and returns its path in ``folder``."""

    def write(**changes):
        config = yaml.safe_load((folder / CONFIG).read_text())
        config["mechanism"] |= changes
        (folder / "edited.yaml").write_text(yaml.safe_dump(config))
        return "edited.yaml"

    return write


def effects(folder, model):
    return read_table(folder / "results/mechanism" / model / "shapes/effects.parquet", EFFECTS).to_pandas()


@pytest.mark.parametrize("model", MODELS)
def test_effects_of_every_intervention_layer_and_operation(folder, model):
    frame = effects(folder, model)
    layers = range(frame["layer"].max() + 1)
    expected = {(*kind, layer) for kind, layer in itertools.product(KINDS, layers)}
    expected |= {(*IDENTITY_OBJECT, 0), (*IDENTITY_ANSWER, 0)}
    for _, rows in frame.groupby("item_id"):
        assert set(rows[["intervention", "position", "layer"]].itertuples(index=False, name=None)) == expected
    assert set(frame["operation"]) == set(OPERATIONS)
    assert ((frame["logprob_clean"] - frame["logprob"] - frame["delta"]).abs() < 1e-6).all()
    assert frame["delta"].abs().max() > 0.1  # the identities below are not those of a model that ignores its image


@pytest.mark.parametrize("model", MODELS)
def test_no_edit_of_an_object_in_the_last_layer_reaches_the_answer(folder, model):
    frame = effects(folder, model)
    last = frame[frame["layer"] == frame["layer"].max()].set_index(["intervention", "position"])["delta"]
    for kind in (MEAN_ABLATION, MLP_OBJECT):
        assert (last.loc[kind] == 0).all()
    assert frame.loc[frame["intervention"] == "identity", "delta"].abs().max() < 1e-4


@pytest.mark.parametrize("operation", OPERATIONS)
def test_questions_are_drawn_dissected_or_set_aside(folder, operation):
    sample = folder / "results/datasets/shapes/operations" / operation
    asked = read_table(folder / "results/datasets/shapes/items.parquet", ITEMS).to_pandas()
    asked = set(asked.loc[asked["operation"] == operation, "item_id"])
    drawn = set(read_table(sample / "items.parquet", ITEMS)["item_id"].to_pylist())
    aside = set(read_table(sample / "rejected.parquet", REJECTED)["item_id"].to_pylist())
    assert drawn | aside <= asked and not drawn & aside and len(drawn) == min(DRAWN, len(asked - aside))
    for model in MODELS:
        found = effects(folder, model)
        own = folder / "results/mechanism" / model / "shapes" / operation
        rejected = read_table(own / "rejected.parquet", REJECTED)["item_id"].to_pylist()
        assert sorted({*found.loc[found["operation"] == operation, "item_id"]} | {*rejected}) == sorted(drawn)
        assert b"dissected" in pq.read_schema(own / "effects.parquet").metadata[b"vlmdx"]


def test_a_failure_mode_for_each_model_and_operation(folder):
    modes = pd.read_csv(folder / "results/mechanism/failure_modes.csv")
    assert list(zip(modes["model"], modes["operation"], strict=True)) == list(itertools.product(MODELS, OPERATIONS))
    assert modes["accuracy"].between(0, 100).all() and (modes["n"] <= DRAWN).all()
    pathways = pd.read_csv(folder / "results/mechanism/pathways.csv")
    assert len(pathways) == len(modes) * len(KINDS)
    for model in MODELS:
        for name, suffix in itertools.product(FIGURES, ("svg", "png")):
            assert (folder / "results/mechanism" / model / "shapes" / f"{name}.{suffix}").stat().st_size > 10_000


def test_nothing_to_be_done_after_a_finished_run(folder):
    assert planned(folder, "mechanism", config=CONFIG) == {}


def test_a_new_operation_runs_alone_and_what_tells_of_all(folder, edited):
    assert planned(folder, "mechanism", config=edited(operations=["choose", "filter", "query"])) == {
        "sample_operations": 1,
        "effects": 2,
        "join_effects": 2,
        "pathways": 2,
        "word_pairs": 1,
        "probe": 2,
        "probing": 2,
        "mechanism_tables": 1,
        "mechanism_accounting": 1,
        **{f"plot_{name}": 2 for name in FIGURES},
        "mechanism": 1,
    }


def test_other_thresholds_dissect_nothing_again(folder, edited):
    plan = planned(folder, "mechanism", config=edited(thresholds={"alpha": 0.01}))
    assert plan == {"pathways": 2, "failure_modes": 1, "plot_effect_forest": 2, "plot_overlays": 2, "mechanism": 1}


def test_without_a_data_set_the_target_says_what_is_missing_and_others_plan(folder, edited):
    config = edited(dataset=None)
    done = run(folder, "-n", "--quiet", "rules", "--", "mechanism", config=config)
    assert done.returncode != 0 and "config: mechanism.dataset: name a data set" in done.stdout
    assert planned(folder, "results/ras_table.csv", config=config)["ras_table"] == 1
