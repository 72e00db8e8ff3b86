"""Mistakes in the config are told in one line each, with the place and the remedy."""

import copy
from pathlib import Path

import pytest
from vlmdx.config import ConfigError, load
from vlmdx.config.faults import faults
from vlmdx.config.files import read_config
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


def broken(**changes):
    raw = copy.deepcopy(DEMO)
    for key, value in changes.items():
        *outer, last = key.split("__")
        block = raw
        for part in outer:
            block = block.setdefault(part, {})
        block[last] = value
    with pytest.raises(ConfigError) as caught:
        load(raw)
    return str(caught.value).splitlines()


def test_the_embedded_default_is_valid():
    config = load(DEMO)
    assert list(config.models) == ["qwen-demo", "llava-demo"]
    assert len(config.corruptions.names) == 19


def test_the_shipped_config_of_the_pupil_is_valid_and_finds_all_it_names():
    config = load(read_config(ROOT / "config" / "pupil.yaml"))
    assert faults(config, lambda path: str(ROOT / path)) == []
    demo = load(DEMO).discovery
    assert config.discovery.questioner.source == demo.questioner.source
    for shared in ("reward", "prompts", "taxonomy"):
        assert getattr(config.discovery, shared) == getattr(demo, shared)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"sead": 1}, "config: sead: unknown key, did you mean 'seed'?"),
        (
            {"corruptions__severities": [1, 6]},
            "config: corruptions.severities.1: Input should be less than or equal to 5, found 6",
        ),
        ({"selection__lamda": 1}, "config: selection.lamda: unknown key, known: image_encoder"),
        ({"datasets__shapes__imges": "x"}, "config: datasets.shapes.imges: unknown key, did you mean 'images'?"),
        ({"voters": ["gpt"]}, "config: voters: no model 'gpt'; there are ['llava-demo', 'qwen-demo']"),
        ({"pool__quotas": {"vqa": 3}}, f"config: pool.quotas: no data set 'vqa'; there are {sorted(DEMO['datasets'])}"),
        (
            {"datasets": {"pool": DEMO["datasets"]["shapes"]}},
            "config: data set 'pool': this name is the workflow's own",
        ),
        ({"seed": "one"}, "config: seed: Input should be a valid integer"),
    ],
)
def test_one_line_with_place_and_remedy(changes, line):
    lines = broken(**changes)
    assert any(found.startswith(line) for found in lines), lines


def test_s01_a_slug_with_a_slash_is_refused_with_a_proposal():
    raw = copy.deepcopy(DEMO)
    raw["models"]["Qwen/Qwen2.5-VL-3B"] = {"source": "x"}
    with pytest.raises(ConfigError, match=r"not a slug.*'qwen-qwen2-5-vl-3b'"):
        load(raw)


def test_unknown_corruption_lists_the_nineteen():
    (line,) = broken(corruptions__names=["fog", "fogg"])
    assert line.startswith("config: corruptions.names.1") and "'jpeg_compression'" in line and "'fogg'" in line


def test_each_mistake_has_its_own_line():
    assert len(broken(sead=1, voters=["qwen-demo"], corruptions__severities=[9])) == 2


def test_s10_lists_replace():
    raw = copy.deepcopy(DEMO)
    raw["corruptions"] |= {"names": ["fog"], "severities": [3]}
    assert load(raw).corruptions.names == ["fog"]
    assert load(raw).corruptions.severities == [3]


def test_repeated_entries_are_refused():
    assert "repeats" in broken(corruptions__severities=[1, 1])[0]
    assert "repeats" in broken(voters=["qwen-demo", "qwen-demo"])[0]
