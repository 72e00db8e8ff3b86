"""The figure of training curves."""

import numpy as np
import pandas as pd
import pytest
from vlmdx.discovery.log import COLUMNS, Log
from vlmdx.report.style import render
from vlmdx.report.training import CURVES, draw_training, read_training_log


def log(path, steps, **fixed):
    rng = np.random.default_rng(len(fixed))
    out = Log(path)
    for step in range(1, steps + 1):
        values = {name: float(rng.random()) for name in COLUMNS if name not in ("step", "kl")}
        out.write({**values, "step": step, **fixed})
    return read_training_log(path)


def test_every_curve_is_a_column_of_the_log():
    assert {column for column, _, _ in CURVES} <= set(COLUMNS)


def test_a_panel_per_quantity_and_a_line_per_run(tmp_path):
    logs = {"rl, seed 0": log(tmp_path / "a.csv", 40), "rl, seed 1": log(tmp_path / "b.csv", 30, kl=0.5)}
    figure = draw_training(logs)
    axes = dict(zip([title for _, title, _ in CURVES], figure.axes, strict=True))
    assert [line.get_label() for line in axes["reward"].lines][1::2] == list(logs)
    raw, smooth = axes["reward"].lines[:2]
    expected = logs["rl, seed 0"]["reward"]
    assert np.allclose(raw.get_ydata(), expected)
    assert np.allclose(smooth.get_ydata(), expected.rolling(2, min_periods=1).mean())
    assert len(axes["KL to first policy (nats)"].lines) == 2  # of the one run that has a reference


def test_what_no_run_measured_is_said(tmp_path):
    figure = draw_training({"rl": log(tmp_path / "a.csv", 3)})
    axis = figure.axes[[column for column, _, _ in CURVES].index("kl")]
    assert [text.get_text() for text in axis.texts] == ["not measured"]
    assert not axis.lines


def test_both_files_are_written_and_the_same_for_the_same_log(tmp_path):
    logs = {"rl": log(tmp_path / "a.csv", 12)}
    for name in ("one", "two"):
        render(tmp_path / f"{name}.svg", tmp_path / f"{name}.png", draw_training, logs)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").stat().st_size > 10_000


def test_another_file_is_refused_by_name(tmp_path):
    pd.DataFrame({"step": [1], "loss": [0.0]}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"x.csv: columns \['reward'"):
        read_training_log(tmp_path / "x.csv")
    Log(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match=r"empty.csv: no step was logged"):
        read_training_log(tmp_path / "empty.csv")
