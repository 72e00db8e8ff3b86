"""What the rules of discovery are told: the scripts read these settings by name."""

from pathlib import Path

import pytest
from vlmdx.config.joint_jobs import JointJobs
from vlmdx.config.load import load
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def jobs():
    return JointJobs(load(DEMO), ROOT)


def test_settings_of_the_tables_and_controls(jobs):
    intervals = {"replicates", "confidence", "seed"}
    assert set(jobs.taxonomy("qwen").settings) == {"minimum", "alpha"} | intervals
    assert set(jobs.fdr_table.settings) == {"methods", "runs", "encoder"} | intervals
    assert set(jobs.blind_control("qwen").settings) == {"answerer", "dataset", "device", "methods"} | intervals
    assert set(jobs.vocabulary.settings) == {"topics", "reseedings", "seed", "encoder"}


def test_a_prompt_of_the_taxonomy_is_no_part_of_training(jobs):
    assert "primitives" in jobs.primitives("qwen").settings["prompts"]
    assert "primitives" not in jobs.train_questioner("qwen").settings["prompts"]


def test_agreement_needs_a_second_verifier(jobs):
    assert jobs.twice_judged() == []
    with pytest.raises(ValueError, match="no second_verifier"):
        jobs.agreement("qwen")
    twice = {**DEMO["discovery"]["runs"]["qwen"], "second_verifier": {"kind": "oracle"}}
    config = load({**DEMO, "discovery": {**DEMO["discovery"], "runs": {"qwen": twice}}})
    settings = JointJobs(config, ROOT).agreement("qwen").settings
    assert set(settings["prompts"]) == {"validity", "reference", "judge", "questioner", "conme"}
    assert settings["verifier"] == {"kind": "oracle"}


def test_other_rewards_are_jobs_of_their_own(jobs):
    config = load({**DEMO, "discovery": {**DEMO["discovery"], "rewards": {"harsh": {"penalty": 2.0}}}})
    other = JointJobs(config, ROOT)
    assert other.recompute_rewards("qwen", "harsh").settings["reward"]["penalty"] == 2.0
    assert other.train_questioner("qwen").digest == jobs.train_questioner("qwen").digest
