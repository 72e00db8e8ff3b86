"""Every figure from made-up models: drawn by its own script, the same bytes twice, gaps labelled."""

import io

import numpy as np
import pytest
from PIL import Image
from vlmdx.reliability import reliability_tables
from vlmdx.report.contact_sheet import draw_contact_sheet, read_tiles
from vlmdx.report.data import levels, pick, read_mean_ras, read_summaries
from vlmdx.report.families import draw_ras_by_family
from vlmdx.report.gini import draw_gini
from vlmdx.report.heatmap import draw_corruption_heatmap
from vlmdx.report.severities import draw_severity_trends, draw_state_shares
from vlmdx.report.style import marks
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.names import FAMILIES
from vlmdx.schema.tables import CELLS, CORRUPTED, GINI, SELECTION, SUMMARY

from tests.reliability import scripts
from tests.reliability.synthetic_scores import SETTINGS, make_items, make_scores, write_items, write_shards

MODELS = ["whole", "gaps"]
CAPTIONS = scripts.SCRIPTS.parents[1] / "resources" / "report"
SUMMARY_FIGURES = ["plot_ras_by_family", "plot_severity_trends", "plot_state_shares", "plot_accuracy_ras"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two models; the second lacks severity 3 everywhere and the weather family altogether."""
    folder = tmp_path_factory.mktemp("results")
    items = make_items(8)
    questions = write_items(folder / "items.parquet", items)
    for seed, model in enumerate(MODELS):
        shards = make_scores(items, seed)
        if model == "gaps":
            shards = {f: [r for r in rows if r["severity"] != 3] for f, rows in shards.items() if f != "weather"}
        tables = reliability_tables(model, write_shards(folder / model, shards), questions, **SETTINGS)
        write_table(folder / f"{model}.summary.parquet", tables.summary, SUMMARY)
        write_table(folder / f"{model}.cells.parquet", tables.cells, CELLS)
    pool = [{"item_id": f"i{n}", "gini": None if n < 5 else n / 100, "voters": 2} for n in range(60)]
    write_table(folder / "gini.parquet", pool, GINI)
    chosen = [{"item_id": f"i{n}", "gini": n / 100, "rank": 59 - n, "similarity": None} for n in range(40, 60)]
    write_table(folder / "bench.parquet", chosen, SELECTION)
    write_table(folder / "nothing.parquet", [], SELECTION)
    for family, names in {"clean": ["clean"], **FAMILIES}.items():
        rows = [tile(name, s) for name in names for s in ([0] if family == "clean" else range(1, 6))]
        write_table(folder / f"corrupted.{family}.parquet", [r for r in rows if r["corruption"] != "fog"], CORRUPTED)
    return folder


def tile(corruption, severity, image_id="b"):
    buffer = io.BytesIO()
    Image.new("RGB", (24, 16), (40 * severity, 90, 90)).save(buffer, "PNG")
    return {
        "image_id": image_id,
        "corruption": corruption,
        "severity": severity,
        "image": {"bytes": buffer.getvalue(), "path": None},
        "sha256": "0",
        "seed": None,
        "psnr": None if severity == 0 else 30.0,
        "ssim": 1.0 if severity == 0 else 0.5,
    }


def inputs_of(name, folder):
    if name in SUMMARY_FIGURES:
        return {"summaries": [folder / f"{model}.summary.parquet" for model in MODELS]}, {"models": MODELS}
    return {
        "plot_corruption_heatmap": ({"cells": [folder / f"{m}.cells.parquet" for m in MODELS]}, {"models": MODELS}),
        "plot_gini": ({"gini": folder / "gini.parquet", "selection": folder / "bench.parquet"}, {}),
        "contact_sheet": (
            {"corrupted": [folder / f"corrupted.{f}.parquet" for f in ("clean", *FAMILIES)]},
            {"image_id": None},
        ),
    }[name]


@pytest.mark.parametrize("name", [*SUMMARY_FIGURES, "plot_corruption_heatmap", "plot_gini", "contact_sheet"])
def test_script_draws_the_same_bytes_twice(results, tmp_path, name):
    inputs, settings = inputs_of(name, results)
    for run in ("one", "two"):
        outputs = {kind: tmp_path / run / f"{name}.{kind}" for kind in ("svg", "png")}
        scripts.run(name, inputs, outputs, settings)
    for kind in ("svg", "png"):
        first, second = ((tmp_path / run / f"{name}.{kind}").read_bytes() for run in ("one", "two"))
        assert first == second
    assert b"<dc:date>" not in (tmp_path / "one" / f"{name}.svg").read_bytes()
    with Image.open(tmp_path / "one" / f"{name}.png") as image:
        assert min(image.size) > 200 and len(image.convert("L").getcolors()) > 20  # not a blank page
    assert len((CAPTIONS / f"{name.removeprefix('plot_')}.rst").read_text()) > 100


def words(figure):
    axes = figure.get_axes()
    return [text.get_text() for axis in axes for text in axis.texts if text.get_text()]


def test_p07_gaps_are_labelled_and_no_model_disappears(results):
    frame = read_summaries([str(results / f"{m}.summary.parquet") for m in MODELS], MODELS)
    assert words(draw_ras_by_family(frame, MODELS)) == ["no data"]  # weather of the second model
    assert [t.get_text() for t in draw_ras_by_family(frame, MODELS).get_axes()[0].get_yticklabels()] == MODELS
    for draw in (draw_severity_trends, draw_state_shares):
        figure = draw(frame, MODELS)
        assert [axis.get_title(loc="left") or axis.get_title() for axis in figure.get_axes()[:2]] == MODELS
        assert words(figure) == ["no data"]  # severity 3 of the second model


def test_p07_model_with_nothing_to_draw_gets_a_labelled_panel(results):
    frame = read_summaries([str(results / f"{m}.summary.parquet") for m in MODELS], MODELS)
    frame.loc[frame.index.get_level_values("model") == "gaps", ["value", "low", "high"]] = np.nan
    for draw in (draw_severity_trends, draw_state_shares):
        assert words(draw(frame, MODELS)) == ["no data"]
    assert words(draw_ras_by_family(frame, MODELS)) == ["no data"] * 6


def test_p07_selection_that_keeps_nothing_is_said(results):
    import pandas as pd

    gini = pd.DataFrame({"item_id": ["a", "b"], "gini": [0.2, np.nan]})
    nothing = pd.DataFrame({"item_id": [], "gini": []})
    assert words(draw_gini(gini, nothing)) == ["no item was selected"]
    assert words(draw_gini(gini.assign(gini=np.nan), nothing)) == ["no item of the pool has a Gini impurity"]


def test_heatmap_masks_what_was_not_scored_and_centres_zero(results):
    ras = read_mean_ras([str(results / f"{m}.cells.parquet") for m in MODELS])
    whole, gaps, *_ = draw_corruption_heatmap(ras, MODELS).get_axes()
    values = [axis.collections[0].get_array() for axis in (whole, gaps)]
    assert np.ma.count_masked(values[0]) == 0
    assert np.ma.count_masked(values[1]) == 19 + 4 * 4
    low, high = whole.collections[0].get_clim()
    assert low == -high == -float(ras["ras"].abs().max())


def test_heatmap_of_nothing_has_labelled_panels(results):
    ras = read_mean_ras([str(results / "whole.cells.parquet")]).iloc[:0]
    assert words(draw_corruption_heatmap(ras, MODELS)) == ["no data", "no data"]


def test_contact_sheet_takes_the_first_image_and_marks_what_is_missing(results, tmp_path):
    write_table(tmp_path / "more.parquet", [tile("snow", 1, "a"), tile("fog", 2, "a")], CORRUPTED)
    paths = [str(results / "corrupted.weather.parquet"), str(tmp_path / "more.parquet")]
    image_id, tiles = read_tiles(paths, None)
    assert (image_id, set(tiles)) == ("a", {("snow", 1), ("fog", 2)})
    assert words(draw_contact_sheet(image_id, tiles)).count("no data") == 2
    assert len(read_tiles(paths, "b")[1]) == 3 * 5  # fog was left out of that shard
    with pytest.raises(ContractError, match="'c' is in none of"):
        read_tiles(paths, "c")


def test_summaries_of_other_models_are_refused(results):
    paths = [str(results / f"{m}.summary.parquet") for m in MODELS]
    for given, models in ((paths, ["whole"]), (paths[:1], MODELS), ([paths[0], paths[0]], MODELS)):
        with pytest.raises(ContractError, match="expected each once"):
            read_summaries(given, models)


def test_levels_are_in_order_and_absent_levels_are_nan(results):
    frame = read_summaries([str(results / f"{m}.summary.parquet") for m in MODELS], MODELS)
    assert levels(frame, "severity") == ["1", "2", "3", "4", "5"]
    assert np.isnan(pick(frame, "ras", "severity", "gaps", ["3", "9"])["value"]).all()


def test_marks_are_unique_and_do_not_depend_on_later_models():
    names = [f"m{n}" for n in range(91)]
    looks = marks(names)
    assert len({tuple(look.values()) for look in looks.values()}) == 91
    assert marks(names[:4]) == {name: looks[name] for name in names[:4]}
