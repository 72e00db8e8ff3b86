"""The real study validates and plans once its models are pinned and its data lies where the config says."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from vlmdx.config import load
from vlmdx.config.jobs import Jobs
from vlmdx.config.pins import LOCK, Pin, hub_models, write_pins
from vlmdx.models.families import FAMILIES
from vlmdx.schema.names import CORRUPTIONS

from tests.workflow.project import ROOT, copy_project, environment

STUDY = "config/study.yaml"
TYPES = {
    "qwen2-5-vl": "qwen2_5_vl",
    "qwen3-vl": "qwen3_vl",
    "llava-1-5": "llava",
    "llava-next": "llava_next",
    "llava-onevision": "llava_onevision",
    "internvl3": "internvl",
    "smolvlm": "idefics3",
    "gemma3": "gemma3",
    "paligemma2": "paligemma",
}


@pytest.fixture(scope="module")
def config():
    return load(yaml.safe_load((ROOT / STUDY).read_text()))


@pytest.fixture(scope="module")
def study(config, tmp_path_factory):
    """A copy of the project with a placeholder for every file of the study and a made-up commit for every model."""
    folder = copy_project(tmp_path_factory.mktemp("study") / "vlmdx")
    jobs = Jobs(config, folder)
    for dataset in config.datasets:
        for path in jobs.sources(dataset).values():
            if Path(path).exists():
                continue  # ships with the project
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("{}") if place.suffix else place.mkdir(exist_ok=True)
    pins = {
        place: Pin(
            source=hub.source,
            revision=f"{number:040x}",
            model_type="clip" if hub.encoder else TYPES[place.rpartition("-")[0]],
        )
        for number, (place, hub) in enumerate(hub_models(config, jobs.here).items())
    }
    write_pins(folder / LOCK, pins)
    return folder


def snakemake(folder, *words):
    words = ["--profile", "slurm", "--configfile", STUDY, "-n", "--quiet", "rules", "--", *words]
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *words], cwd=folder, env=environment(), text=True, capture_output=True
    )


def test_the_study_is_what_it_says(config):
    assert len(config.models) == 13 and len(config.pool.quotas) == 6
    assert sum(config.pool.quotas.values()) == 4000 and config.selection.target == 849
    assert config.corruptions.names == list(CORRUPTIONS) and config.corruptions.severities == [1, 2, 3, 4, 5]
    assert len({entry.source for entry in config.models.values()}) == 13
    assert {TYPES[slug.rpartition("-")[0]] for slug in config.models} <= set(FAMILIES)
    assert not any(entry.trust_remote_code for entry in config.models.values())


def test_the_study_plans_with_the_cluster_profile(study):
    done = snakemake(study, "results/ras_table.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = {
        words[0]: int(words[1])
        for line in done.stdout.splitlines()
        if len(words := line.split()) == 2 and words[1].isdigit()
    }
    # Four voters on the pool, nine models on the bench: six shards each.
    assert jobs["score"] == 4 * 6 + 9 * 6
    assert jobs["cut_bench"] == 4 and jobs["reliability"] == 13 and jobs["import_dataset"] == 6
    assert jobs["ras_table"] == jobs["select_bench"] == jobs["embed_pool"] == 1


def test_the_mechanism_of_the_study_plans_with_the_cluster_profile(study):
    done = snakemake(study, "mechanism")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = {
        words[0]: int(words[1])
        for line in done.stdout.splitlines()
        if len(words := line.split()) == 2 and words[1].isdigit()
    }
    assert jobs["effects"] == jobs["probe"] == 4 * 7 and jobs["word_pairs"] == 7
    assert jobs["vsr_effects"] == jobs["pathways"] == jobs["plot_vsr_overlays"] == 4
    assert jobs["mechanism_tables"] == jobs["vsr_table"] == jobs["mechanism_accounting"] == 1
    assert jobs["import_dataset"] == 2 and "corrupt" not in jobs and "score" not in jobs


def test_without_its_lock_every_hub_model_is_named(study):
    lock = (study / LOCK).read_text()
    (study / LOCK).unlink()
    try:
        done = snakemake(study, "results/ras_table.csv")
    finally:
        (study / LOCK).write_text(lock)
    assert done.returncode != 0
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "config: " in line]
    assert len(lines) == 14 and all("run `vlmdx fetch`" in line for line in lines)
    assert (
        sum("models." in line for line in lines) == 13 and sum("selection.image_encoder" in line for line in lines) == 1
    )
