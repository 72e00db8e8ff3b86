"""VSR's statements on real photos through the mechanism target: both demo models and a tiny Qwen2.5-VL."""

import itertools

import pandas as pd
import pytest
import yaml
from vlmdx.mechanism.sample import KINDS, MEAN_ABLATION, MLP_OBJECT
from vlmdx.mechanism.tables import VSR_EFFECTS
from vlmdx.mechanism.vsr import SETS
from vlmdx.schema import read_table
from vlmdx.schema.tables import REJECTED

from tests.models import tiny, vocabularies
from tests.workflow.project import ROOT, copy_project, planned, run

DATA = ROOT.parent / "shared" / "data"
CONFIG, MODELS, STATEMENTS = "vsr.yaml", ("qwen-demo", "llava-demo", "qwen-tiny"), 23

pytestmark = [
    pytest.mark.skipif(not (DATA / "vsr-coco").is_dir(), reason="VSR's photos are not beside this checkout"),
    pytest.mark.skipif(not vocabularies.have_qwen(), reason="Qwen's tokenizer is not beside this checkout"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run."""
    folder = copy_project(tmp_path_factory.mktemp("vsr"))
    tiny.build("qwen", folder / "models" / "qwen-tiny")
    config = yaml.safe_load((folder / "tests/workflow/vsr.yaml").read_text().replace("../shared/data", str(DATA)))
    config["models"]["qwen-tiny"] = {"source": "models/qwen-tiny"}
    (folder / CONFIG).write_text(yaml.safe_dump(config, sort_keys=False))
    done = run(folder, "--quiet", "rules", "--", "mechanism", config=CONFIG)
    assert done.returncode == 0, done.stdout
    return folder


def part(folder, model, name):
    return folder / "results/mechanism" / model / "vsr-coco/vsr" / name


@pytest.mark.parametrize("model", MODELS)
def test_every_statement_is_dissected_or_set_aside_in_every_set(folder, model):
    frame = read_table(part(folder, model, "effects.parquet"), VSR_EFFECTS).to_pandas()
    aside = read_table(part(folder, model, "rejected.parquet"), REJECTED).to_pandas()
    for name in SETS:
        done = set(frame.loc[frame["grounding"] == name, "item_id"])
        left = set(aside.loc[aside["source"] == name, "item_id"])
        assert not done & left and len(done) + len(left) == STATEMENTS
    assert (frame["delta"].abs() > 1e-3).mean() > 0.1
    last = frame[frame["layer"] == frame["layer"].max()].set_index(["intervention", "position"])["delta"]
    assert (last.loc[[MEAN_ABLATION, MLP_OBJECT]] == 0).all()


def test_what_llava_s_crop_cuts_away_is_set_aside(folder):
    aside = read_table(part(folder, "llava-demo", "rejected.parquet"), REJECTED).to_pandas()
    alone = set(aside.loc[aside["source"] != "both", "item_id"])
    assert alone == set(aside.loc[aside["source"] == "both", "item_id"]) != set()
    assert aside["reason"].str.contains("does not look").all()
    assert read_table(part(folder, "qwen-demo", "rejected.parquet"), REJECTED).num_rows == 0


def test_table_by_relation_category_and_set(folder):
    table = pd.read_csv(folder / "results/mechanism/vsr.csv")
    assert set(table["model"]) == set(MODELS)
    assert set(table["category"]) == {"Adjacency", "Orientation", "Projective", "Topological"}
    assert (table["n"] == table["n_correct"] + table["n_incorrect"]).all()
    whole = table[table["model"] == "qwen-demo"].groupby(["grounding", "intervention", "position"])["n"].sum()
    assert set(whole.index) == {(name, *kind) for name, kind in itertools.product(SETS, KINDS)}
    assert (whole == STATEMENTS).all()
    assert table["d"].notna().any() and table["q_permutation"].notna().equals(table["d"].notna())


def test_figures_and_accounting(folder):
    for model, name, suffix in itertools.product(MODELS, ("vsr", "overlays"), ("svg", "png")):
        assert part(folder, model, f"{name}.{suffix}").stat().st_size > 20_000
    rows = pd.read_csv(folder / "results/mechanism/accounting.csv")
    assert list(zip(rows["name"], rows["operation"], strict=True)) == list(itertools.product(MODELS, SETS))
    assert (rows["rows_in"] == STATEMENTS).all() and (rows["rows_in"] == rows["rows_out"] + rows["set_aside"]).all()


def test_a_new_model_runs_alone(folder):
    assert planned(folder, "mechanism", config=CONFIG) == {}
    config = yaml.safe_load((folder / CONFIG).read_text())
    config["models"]["another"] = {"source": "models/qwen-tiny"}
    (folder / "more.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    assert planned(folder, "mechanism", config="more.yaml") == {
        **dict.fromkeys(("vsr_effects", "vsr_pathways", "plot_vsr", "plot_vsr_overlays"), 1),
        **dict.fromkeys(("vsr_table", "mechanism_accounting", "mechanism"), 1),
    }
