"""S01 to S04, S10: names, profiles, paths and config as the reports have them, through Snakemake itself."""

import json
import os
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml

from tests.workflow.project import ROOT, SMALL, copy_project, environment, planned, run

MAIN = "results/ras_table.csv"


@pytest.fixture
def copy(finished, tmp_path):
    """The finished run in a new place, to be changed."""
    return shutil.copytree(finished, tmp_path / "copy", copy_function=shutil.copyfile)


def configure(folder, change):
    config = yaml.safe_load((folder / SMALL).read_text())
    change(config)
    (folder / SMALL).write_text(yaml.safe_dump(config))


SOURCES = {
    "qwen-qwen2-5-vl-3b-instruct": "Qwen/Qwen2.5-VL-3B-Instruct",
    "qwen-qwen2-5-vl-7b-instruct": "Qwen/Qwen2.5-VL-7B-Instruct",
    "local-3b": "models/Qwen2.5-VL-3B-Instruct/",
    "org-a--b": "org/a__b",
    "org--a-b": "org__a/b",
}


def test_s01_five_sources_with_slashes_dots_and_equal_stems_are_five_models(tmp_path):
    folder = copy_project(tmp_path / "run")
    for source in SOURCES.values():
        shutil.copytree(folder / "resources/models/qwen-demo", folder / source)
    configure(folder, lambda config: config.update(models={s: {"source": p} for s, p in SOURCES.items()}, voters=[]))
    configure(folder, lambda config: config.update(voters=list(SOURCES)[:2]))
    done = run(folder, "--summary", "--", MAIN)
    assert done.returncode == 0, done.stdout
    files = [line.split("\t")[0] for line in done.stdout.splitlines() if line.startswith("results/reliability/")]
    summaries = [file for file in files if file.endswith("/summary.parquet")]
    assert sorted(summaries) == sorted(f"results/reliability/{slug}/summary.parquet" for slug in SOURCES)
    assert len(files) == len(set(files))


def test_s02_a_name_that_begins_another_name_is_another_name(copy):
    def two(config):
        shapes = config["datasets"].pop("shapes")
        config["datasets"] = {"vsr": shapes, "vsr-zeroshot": shapes}
        config["pool"] = {"quotas": {"vsr": None, "vsr-zeroshot": None}}

    configure(copy, two)
    asked = "results/datasets/vsr-zeroshot/items.parquet"
    done = run(copy, "-n", "--", asked)
    assert done.returncode == 0 and "Importing data set vsr-zeroshot" in done.stdout, done.stdout
    assert planned(copy, asked) == {"import_dataset": 1}
    nobody = run(copy, "-n", "--", "results/datasets/vsr-zero/items.parquet")
    assert nobody.returncode != 0 and "MissingRuleException" in nobody.stdout


@pytest.mark.parametrize("profile", ["slurm", str(ROOT / "slurm")], ids=["relative", "absolute"])
def test_s03_the_cluster_profile_holds_whole_wherever_it_is_called_from(tmp_path, profile):
    """A relative name from the repository's root, a path from anywhere; with the workflow's own profile beside it."""
    words = [sys.executable, "-m", "snakemake", "-s", os.fspath(ROOT / "Snakefile"), "--profile", profile]
    done = subprocess.run(
        [*words, "-n", "-d", os.fspath(tmp_path / "run1"), "--", MAIN],
        cwd=ROOT if profile == "slurm" else tmp_path,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    said = " ".join(done.stdout.split())
    assert f"{profile} and workflow specific profile" in said and "profiles/default" in said, done.stdout


def test_s04_braces_dollars_and_quotes_in_a_prompt_reach_the_model_as_they_are(copy):
    odd = """{{ } $HOME ${HOME} `id` {wildcards.model} 100% "it's" \\n é"""
    prompt = copy / "resources/prompts/letter.txt"
    prompt.write_text(f"{odd}\n{prompt.read_text()}", encoding="utf-8")
    shard = "results/scores/qwen-demo/pool/clean.parquet"
    done = run(copy, "--", shard)
    assert done.returncode == 0, done.stdout
    first = json.loads(pq.read_schema(copy / shard).metadata[b"vlmdx"])["scoring"]["first"]
    assert odd in first["prompt"] and "{question}" not in first["prompt"]


@pytest.mark.parametrize("value", ["$HOME/models", "${HOME}/a {b} 'c'"])
def test_s04_a_dollar_in_the_config_is_no_variable_and_no_wildcard(tmp_path, value):
    """It is a path like any other, and one that is not there is named as it was written."""
    folder = copy_project(tmp_path / "run")
    configure(folder, lambda config: config["models"]["qwen-demo"].update(source=value))
    missing = run(folder, "-n", "--", MAIN)
    assert missing.returncode != 0 and value in missing.stdout and "Traceback" not in missing.stdout, missing.stdout
    shutil.copytree(folder / "resources/models/qwen-demo", folder / value)
    assert planned(folder, MAIN)["score"] == 6


def test_s10_a_config_file_stands_alone_and_its_lists_replace(tmp_path):
    """The default config has two severities more and another target; a file of one's own inherits neither."""
    folder = copy_project(tmp_path / "run")
    configure(folder, lambda config: config.update(corruptions={"names": ["fog"], "severities": [3]}))
    target = "results/demo/scenes/questions.json"
    done = run(folder, "--", target)  # a start writes the resolved config
    assert done.returncode == 0, done.stdout
    kept = yaml.safe_load((folder / "results/config.yaml").read_text())
    assert (kept["corruptions"]["names"], kept["corruptions"]["severities"]) == (["fog"], [3])
    assert list(kept["datasets"]) == ["shapes"] and kept["selection"]["target"] == 16
    configure(folder, lambda config: config.update(corruptons=config.pop("corruptions")))
    refused = run(folder, "-n", "--", MAIN)
    assert "config: corruptons: unknown key, did you mean 'corruptions'?" in refused.stdout
