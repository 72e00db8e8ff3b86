"""The mechanism target from drawn scenes to failure modes and figures, and what an operation more would run."""

import itertools

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from vlmdx.mechanism.sample import IDENTITY_ANSWER, IDENTITY_OBJECT, KINDS, MEAN_ABLATION, MLP_OBJECT
from vlmdx.mechanism.tables import ASKED
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS, ITEMS, REJECTED

from tests.workflow.project import copy_project, planned, run

CONFIG = "tests/workflow/mechanism.yaml"
MODELS, OPERATIONS, DATA = ("llava-demo",), ("choose", "filter"), "shapes-mechanism"
CANDIDATES, N = 16, 12
FIGURES = ("layer_curves", "effect_heatmaps", "effect_forest", "overlays", "probing")


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
    return read_table(folder / "results/mechanism" / model / DATA / "effects.parquet", EFFECTS).to_pandas()


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
    sample = folder / "results/datasets" / DATA / "operations" / operation
    asked = read_table(folder / "results/datasets" / DATA / "items.parquet", ITEMS).to_pandas()
    asked = set(asked.loc[asked["operation"] == operation, "item_id"])
    drawn = set(read_table(sample / "items.parquet", ITEMS)["item_id"].to_pylist())
    aside = set(read_table(sample / "rejected.parquet", REJECTED)["item_id"].to_pylist())
    assert drawn | aside <= asked and not drawn & aside and len(drawn) == min(CANDIDATES, len(asked - aside))
    for model in MODELS:
        found = effects(folder, model)
        own = folder / "results/mechanism" / model / DATA / operation
        rejected = read_table(own / "rejected.parquet", REJECTED)["item_id"].to_pylist()
        assert sorted([*found.loc[found["operation"] == operation, "item_id"].unique(), *rejected]) == sorted(drawn)
        assert b"dissected" in pq.read_schema(own / "effects.parquet").metadata[b"vlmdx"]


@pytest.mark.parametrize("model", MODELS)
def test_as_many_wrong_as_right_ones_are_dissected_as_far_as_there_are(folder, model):
    found = effects(folder, model).drop_duplicates("item_id")
    sampling = pd.read_csv(folder / "results/mechanism/sampling.csv").query("model == @model")
    modes = pd.read_csv(folder / "results/mechanism/failure_modes.csv").query("model == @model").set_index("operation")
    for operation in OPERATIONS:
        asked = read_table(folder / "results/mechanism" / model / DATA / operation / "asked.parquet", ASKED).to_pandas()
        wrong = int((~asked["correct"]).sum())
        dissected = found.loc[found["operation"] == operation, "correct"]
        assert len(dissected) == N and (~dissected).sum() == max(min(wrong, N // 2), N - len(asked) + wrong)
        counts = sampling[sampling["operation"] == operation].drop(columns=["model", "operation", "answer"]).sum()
        assert counts["asked"] == len(asked) == counts["right"] + counts["wrong"] and counts["wrong"] == wrong
        assert [counts["dissected_right"], counts["dissected_wrong"]] == [dissected.sum(), (~dissected).sum()]
        assert modes.loc[operation, "accuracy"] == pytest.approx(100 * asked["correct"].mean(), rel=1e-5)
    absent = sampling.query("operation == 'filter' and answer == 'no'")  # "no, there is no red circle": no box
    assert (absent["questions"] > 0).all() and (absent["asked"] == 0).all()


def test_a_failure_mode_for_each_model_and_operation(folder):
    modes = pd.read_csv(folder / "results/mechanism/failure_modes.csv")
    assert list(zip(modes["model"], modes["operation"], strict=True)) == list(itertools.product(MODELS, OPERATIONS))
    assert modes["accuracy"].between(0, 100).all() and (modes["n"] == N).all()
    pathways = pd.read_csv(folder / "results/mechanism/pathways.csv")
    assert len(pathways) == len(modes) * len(KINDS)
    for model in MODELS:
        for name, suffix in itertools.product(FIGURES, ("svg", "png")):
            assert (folder / "results/mechanism" / model / DATA / f"{name}.{suffix}").stat().st_size > 10_000


def test_nothing_to_be_done_after_a_finished_run(folder):
    assert planned(folder, "mechanism", config=CONFIG) == {}


def test_a_new_operation_runs_alone_and_what_tells_of_all(folder, edited):
    assert planned(folder, "mechanism", config=edited(operations=["choose", "filter", "query"])) == {
        "sample_operations": 1,
        "effects": 1,
        "join_effects": 1,
        "pathways": 1,
        "word_pairs": 1,
        "probe": 1,
        "probing": 1,
        "mechanism_tables": 1,
        "mechanism_accounting": 1,
        **{f"plot_{name}": 1 for name in FIGURES},
        "mechanism": 1,
    }


def test_a_new_model_runs_alone_and_what_tells_of_all(folder, edited):
    assert planned(folder, "mechanism", config=edited(models=[*MODELS, "qwen-demo"])) == {
        "effects": 2,
        "join_effects": 1,
        "pathways": 1,
        "probe": 2,
        "probing": 1,
        "mechanism_tables": 1,
        "mechanism_accounting": 1,
        **{f"plot_{name}": 1 for name in FIGURES},
        "mechanism": 1,
    }


def test_other_thresholds_dissect_nothing_again(folder, edited):
    plan = planned(folder, "mechanism", config=edited(thresholds={"alpha": 0.01}))
    assert not {"effects", "probe", "join_effects"} & set(plan) and plan["pathways"] == 1


def test_another_size_of_the_draw_reruns_the_effects_but_not_the_sample(folder, edited):
    plan = planned(folder, "mechanism", config=edited(n=10))
    assert plan["effects"] == 2 and not {"sample_operations", "probe", "import_dataset"} & set(plan)


def test_the_scenes_of_this_target_stay_out_of_the_main_job(folder):
    plan = planned(folder, "results/ras_table.csv", config="config/config.yaml")
    assert plan["import_dataset"] == plan["demo_scenes"] == 1


def test_without_a_data_set_the_target_says_what_is_missing_and_others_plan(folder, edited):
    config = edited(dataset=None)
    done = run(folder, "-n", "--quiet", "rules", "--", "mechanism", config=config)
    assert done.returncode != 0 and "config: mechanism.dataset: name a data set" in done.stdout
    assert planned(folder, "results/ras_table.csv", config=config)["ras_table"] == 1
