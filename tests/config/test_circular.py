"""`scoring.circular` adds jobs and changes none of the others."""

import copy
from pathlib import Path

import pytest
from vlmdx.config import load
from vlmdx.config.faults import faults
from vlmdx.config.jobs import Jobs
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


def jobs(circular, **readouts):
    raw = copy.deepcopy(DEMO)
    raw["scoring"] = {"circular": circular}
    for model, readout in readouts.items():
        raw["models"][model.replace("_", "-")]["readout"] = readout
    return Jobs(load(raw), ROOT)


@pytest.fixture(scope="module")
def both():
    return jobs(False), jobs(True)


def test_no_plain_score_runs_again(both):
    off, on = both
    for model in ("qwen-demo", "llava-demo"):
        for itemset in ("pool", "bench"):
            for family in off.shards():
                assert off.score(model, itemset, family).digest == on.score(model, itemset, family).digest
        assert off.reliability(model).digest == on.reliability(model).digest
    assert off.ras_table.digest == on.ras_table.digest and off.select_bench.digest == on.select_bench.digest
    assert off.accounting.digest != on.accounting.digest


def test_rotations_are_scored_by_models_that_see_the_options(both):
    off, on = both
    assert off.circular_models() == [] and on.circular_models() == ["qwen-demo", "llava-demo"]
    assert jobs(True, qwen_demo="text").circular_models() == ["llava-demo"]
    assert len({on.score("qwen-demo", itemset, "clean").digest for itemset in ("pool", "bench", "circular")}) == 3


def test_no_model_that_sees_the_options_is_a_mistake():
    words = jobs(True, qwen_demo="text", llava_demo="text")
    assert [line for line in faults(words.config, words.here) if "circular" in line] == [
        "config: scoring.circular: no model has the letter read-out, so no options are shown that can turn"
    ]
