"""The conda environment and the pip lock name the same versions, and the lock covers what is asked for."""

from pathlib import Path

import yaml

ENVS = Path(__file__).parents[2] / "envs"


def lines(name):
    return [
        line.strip() for line in (ENVS / name).read_text().splitlines() if line.strip() and not line.startswith("#")
    ]


def test_conda_environment_equals_the_pip_lock():
    dependencies = yaml.safe_load((ENVS / "vlmdx.yaml").read_text())["dependencies"]
    (pip,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    assert pip == lines("requirements.lock")


def test_lock_pins_everything_that_is_asked_for():
    pinned = {line.split("==")[0] for line in lines("requirements.lock")}
    assert {line.split("==")[0].lower() for line in lines("requirements.in")} <= pinned
