"""Figures of discovery: the same bytes twice, nothing hidden, empty tables told."""

import numpy as np
import pandas as pd
import pytest
from vlmdx.report.discovery import METRICS, draw_curriculum, draw_failure_modes, draw_fdr
from vlmdx.report.style import render
from vlmdx.report.taxonomy import draw_sunburst, page


def fdr(runs=("one", "two"), methods=("zero-shot", "rl")):
    rows = []
    for run in runs:
        for place, method in enumerate(methods):
            line = {"run": run, "method": method}
            for metric in METRICS:
                value = np.nan if (metric, method) == ("fdr_gain", "zero-shot") else 0.2 + 0.1 * place
                line |= {metric: value, f"{metric}_low": value - 0.05, f"{metric}_high": value + 0.05}
            rows.append(line)
    return pd.DataFrame(rows)


def modes():
    base = {"kind": "skill", "questions": 40, "failed": 20.0, "base": 0.2, "adds": False, "rate_alone": 0.5}
    return pd.DataFrame(
        [
            base | {"mode": "count", "rate": 0.5, "low": 0.4, "high": 0.6, "q": 1e-4, "failure_mode": True},
            base | {"mode": "count + see", "kind": "combination", "rate": 0.5, "low": 0.4, "high": 0.6, "q": 1e-3,
                    "failure_mode": True, "adds": False},
            base | {"mode": "see + tell", "kind": "combination", "rate": 0.6, "low": 0.4, "high": 0.6, "q": 1e-3,
                    "failure_mode": True, "adds": True},
            base | {"mode": "see", "rate": 0.1, "low": 0.05, "high": 0.2, "q": 1.0, "failure_mode": False},
        ]
    )  # fmt: skip


def leaf(name, valid=10, failed=2):
    rate = failed / valid if valid else None
    return {"name": name, "asked": valid, "valid": valid, "failed": float(failed), "failure_rate": rate}


def report(skills=("count <b>", "see color", "tell left from right by a very long name indeed")):
    nodes = [leaf(s) | {"words": [], "first_exploited": {"rl": [3]}, "primitives": [leaf(s)]} for s in skills]
    return {
        "run": "toy",
        "questions": {"distinct": 30},
        "failure_rate": 0.2,
        "stability": {"adjusted_rand_mean": 0.9, "adjusted_rand_min": 0.8},
        "failure_modes": [{"mode": "count <b>", "failed": 5.0, "questions": 9, "rate": 0.55, "lift": 2.0, "q": 1e-3}],
        "meta_skills": [leaf("all of it") | {"skills": nodes}] if skills else [],
    }


@pytest.mark.parametrize(
    ("draw", "args"),
    [
        (draw_fdr, lambda: (fdr(), ["zero-shot", "rl"])),
        (draw_failure_modes, lambda: (modes(),)),
        (draw_sunburst, lambda: (report(),)),
    ],
)
def test_the_same_bytes_twice(tmp_path, draw, args):
    for name in ("a", "b"):
        render(tmp_path / f"{name}.svg", tmp_path / f"{name}.png", draw, *args())
    for suffix in ("svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_value_that_is_not_there_draws_no_mark():
    gain = draw_fdr(fdr(), ["zero-shot", "rl"]).axes[list(METRICS).index("fdr_gain")]
    marks = [line for line in gain.lines if line.get_marker() not in ("None", None, "")]
    assert len(marks) == 2  # rl of two runs; zero-shot has no difference to itself


def test_combinations_that_add_nothing_are_not_drawn():
    labels = [tick.get_text() for tick in draw_failure_modes(modes()).axes[0].get_yticklabels()]
    assert labels == ["count", "see + tell", "see"]


def test_what_only_comes_along_with_a_failure_mode_is_hollow():
    frame = modes()
    frame.loc[2, "rate_alone"] = 0.1
    faces = [
        line.get_markerfacecolor()
        for line in draw_failure_modes(frame).axes[0].lines
        if line.get_marker() in ("o", "D")
    ]
    assert [face == "white" for face in faces] == [False, True, True]


def test_empty_tables_say_so():
    texts = [t.get_text() for t in draw_failure_modes(modes().head(0)).axes[0].texts]
    assert texts == ["no skill has enough questions to be tested"]
    frame = pd.DataFrame(columns=["method", "seed", "skill", "first_step", "steps"])
    assert [t.get_text() for t in draw_curriculum(frame, ["rl"]).axes[0].texts] == ["no training asked for any skill"]
    assert [t.get_text() for t in draw_sunburst(report(())).axes[0].texts] == [
        "no skill was asked for on held-out images"
    ]


def test_the_curriculum_is_ordered_by_step_and_tells_what_was_never_exploited():
    frame = pd.DataFrame(
        [("rl", 0, "late", 9, 10), ("rl", 0, "early", 1, 10), ("sft", 0, "early", 3, 10), ("rl", 0, "safe", None, 10)],
        columns=["method", "seed", "skill", "first_step", "steps"],
    ).astype({"first_step": "Int64"})
    axis = draw_curriculum(frame, ["sft", "rl"]).axes[0]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["early", "late", "safe"]
    assert "asked, never failed" in [t.get_text() for t in axis.texts]


def test_the_page_escapes_names_and_needs_nothing_beside_it():
    text = page(report())
    assert "count &lt;b&gt;" in text
    assert "count <b>" not in text
    assert "http" not in text
    assert "src=" not in text
    assert text.count("<details") == 4
    assert "adjusted Rand 0.90" in text
    assert "first exploited in training at step rl: 3" in text
