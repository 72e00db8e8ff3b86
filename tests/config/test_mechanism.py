"""The mechanism block: its mistakes, and which jobs an edit of it runs again."""

import copy
from pathlib import Path

import pytest
from vlmdx.config import ConfigError, load
from vlmdx.config.faults import faults
from vlmdx.config.mechanism_jobs import MechanismJobs
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


def jobs(qwen=None, **mechanism):
    raw = copy.deepcopy(DEMO)
    raw["mechanism"] |= mechanism
    raw["models"]["qwen-demo"] |= qwen or {}
    return MechanismJobs(load(raw), ROOT)


def effects(made):
    return made.effects("qwen-demo", "shapes", "filter").digest


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"dataset": "gqa"}, "config: mechanism.dataset: no data set 'gqa'; there are ['"),
        ({"dataset": "GQA"}, "config: mechanism.dataset: not a slug"),
        ({"vsr": "vsr"}, "config: mechanism.vsr: no data set 'vsr'; there are ['"),
        ({"vsr": "shapes"}, "config: mechanism.vsr: data set 'shapes' must have importer vsr, `instances_file` for"),
        ({"probing": {"folds": 1}}, "config: mechanism.probing.folds: Input should be greater than or equal to 2"),
        ({"models": ["gpt"]}, "config: mechanism.models: no model 'gpt'; there are ['llava-demo', 'qwen-demo']"),
        ({"qwen": {"readout": "text"}, "models": ["qwen-demo"]}, "config: mechanism.models: 'qwen-demo' is read out"),
        ({"operations": ["filter", "filter"]}, "config: mechanism.operations: ['filter', 'filter'] repeats an entry"),
        ({"operations": ["fliter"]}, "config: mechanism.operations.0: Input should be 'select'"),
        ({"thresholds": {"low": 1.0}}, "config: mechanism.thresholds: low 1.0 is above high 0.5"),
        ({"ruel": "any"}, "config: mechanism.ruel: unknown key, did you mean 'rule'?"),
    ],
)
def test_mistakes_are_told_in_one_line(changes, line):
    with pytest.raises(ConfigError) as caught:
        jobs(**changes)
    (said,) = str(caught.value).splitlines()
    assert said.startswith(line)


def test_the_bridge_asks_for_its_library(monkeypatch):
    monkeypatch.setattr("vlmdx.config.faults.find_spec", lambda name: None)
    made = jobs(engine="bridge")
    assert faults(made.config, made.here) == [
        "config: mechanism.engine: bridge needs transformer-lens; install it, or use `reference`"
    ]
    assert not faults(jobs().config, made.here)


@pytest.mark.parametrize(
    "change", [{"rule": "half"}, {"window": 2}, {"controls": False}, {"n": 7}, {"batch_tokens": 9}]
)
def test_what_an_effect_depends_on_runs_it_again(change):
    assert effects(jobs()) != effects(jobs(**change))


def test_other_operations_models_and_statistics_leave_the_effects_alone():
    before = effects(jobs())
    later = {"resamples": 100, "confidence": 0.9, "thresholds": {"alpha": 0.1}, "per_operation": 2, "replicates": 100}
    assert effects(jobs(operations=["filter"], models=["qwen-demo"], **later)) == before
    assert effects(jobs(qwen={"batch_tokens": 64})) != before
    assert effects(jobs(qwen={"batch_tokens": 64}, batch_tokens=1024)) == before


def test_two_operations_are_two_jobs():
    made = jobs()
    assert made.effects("qwen-demo", "shapes", "query").digest != effects(made)


def test_null_takes_the_models_that_answer_with_a_letter():
    assert jobs().dissected() == ["qwen-demo", "llava-demo"]
    assert jobs(qwen={"readout": "text"}).dissected() == ["llava-demo"]


def test_the_main_job_knows_nothing_of_it():
    assert jobs(dataset=None).ras_table.digest == jobs(n=3, operations=["query"]).ras_table.digest
