"""The joint table against values by hand, and its figure."""

import matplotlib as mpl
import pandas as pd
import pytest
from vlmdx.report.joint import EVERYTHING, draw_joint, joint_rows
from vlmdx.report.style import render

ITEMS = pd.DataFrame(
    {
        "item_id": ["d:i-00000001", "d:i-00000002", "d:j-00000003", "d:j-00000004"],
        "question": ["A?", "B?", "A?", "C?"],
    }
)
SKILLS = {("i", "A?"): ["count"], ("i", "B?"): ["see color"], ("j", "A?"): ["count", "see color"], ("j", "C?"): []}
TRANSFER = pd.DataFrame(
    {
        "image_id": ["i", "i", "j", "j"],
        "question": ["A?", "B?", "A?", "C?"],
        "correct": [False, True, False, None],
    }
)


def cell(item, image, state, ras):
    return {
        "item_id": item,
        "image_id": image,
        "state": state,
        "correct_clean": state[0] == "c",
        "correct": state[1] == "c",
        "ras": ras,
    }


CELLS = pd.DataFrame(
    [
        cell("d:i-00000001", "x", "cc", -0.1),
        cell("d:i-00000001", "x", "cw", -1.0),
        cell("d:i-00000002", "x", "wc", 0.5),
        cell("d:j-00000003", "y", "ww", 0.0),
    ]
)


def effect(item, intervention, position, layer, delta):
    return {
        "item_id": item,
        "operation": "query",
        "intervention": intervention,
        "position": position,
        "layer": layer,
        "delta": delta,
        "correct": True,
    }


EFFECTS = pd.DataFrame(
    [
        effect("d:i-00000001", "mean_ablation", "object", 0, 1.0),
        effect("d:i-00000001", "mean_ablation", "object", 1, 3.0),
        effect("d:i-00000001", "attention_knockout", "answer", 0, 0.5),
        effect("d:i-00000002", "mean_ablation", "object", 0, 0.1),
        effect("d:i-00000002", "mlp_knockout", "answer", 0, 2.0),
    ]
)


def rows(effects=EFFECTS, cells=CELLS):
    found = joint_rows(
        "run",
        "m",
        ITEMS,
        SKILLS,
        ["count", "see color", "count + see color", "read text"],
        TRANSFER,
        cells,
        effects,
        replicates=200,
        confidence=0.95,
        seed=0,
    )
    return pd.DataFrame(found).set_index("mode")


def test_every_column_by_hand():
    table = rows()
    assert table["questions"].to_dict() == {EVERYTHING: 4, "count": 2, "see color": 2, "count + see color": 1}
    assert table.loc["count", "failed"] == 1.0 and table.loc["see color", "failed"] == 0.5
    assert table.loc[EVERYTHING, "failed"] == pytest.approx(2 / 3)
    assert table.loc["count", "accuracy"] == pytest.approx(2 / 3)
    assert table.loc["count", "accuracy_corrupted"] == pytest.approx(1 / 3)
    assert table.loc["count", "ras"] == pytest.approx(-1.1 / 3)
    assert table.loc["count", "silent"] == 1.0
    assert table.loc["count", "object tokens"] == 3.0 and table.loc["count", "pathway"] == "object tokens"
    assert table.loc["see color", "pathway"] == "MLP at the answer"
    assert table["dissected"].to_dict()[EVERYTHING] == 2


def test_what_was_not_measured_is_missing_and_not_zero():
    table = rows(effects=EFFECTS.iloc[:0], cells=CELLS.iloc[:0])
    assert table["pathway"].isna().all() and (table["dissected"] == 0).all()
    assert table["ras"].isna().all() and table["accuracy"].isna().all()


def test_the_figure_has_a_line_per_mode_and_is_the_same_bytes_twice(tmp_path):
    mpl.use("agg")
    table = rows().reset_index()
    for name in ("a", "b"):
        render(tmp_path / f"{name}.svg", tmp_path / f"{name}.png", draw_joint, table)
    text = (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "<svg" in text and (tmp_path / "a.png").stat().st_size > 10_000


def test_where_nothing_was_dissected_the_figure_stands_without_its_pathways(tmp_path):
    mpl.use("agg")
    table = rows(effects=EFFECTS.iloc[:0]).reset_index()
    table.to_csv(tmp_path / "table.csv", index=False)
    render(tmp_path / "a.svg", tmp_path / "a.png", draw_joint, pd.read_csv(tmp_path / "table.csv"))
    assert (tmp_path / "a.png").stat().st_size > 10_000
