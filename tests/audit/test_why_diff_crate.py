"""From a row back to its sources; two runs side by side; a run handed on as an RO-Crate."""

import csv
import json
import shlex
import subprocess
import sys

import pytest
from rocrate.rocrate import ROCrate

from tests.audit.conftest import vlmdx
from tests.workflow.project import SMALL, environment

TABLE = "results/ras_table.csv"


@pytest.fixture(scope="module")
def told(finished):
    done = vlmdx(finished, "why", TABLE, "--row", "qwen-demo")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_why_walks_to_shards_items_images_model_files_and_code(told):
    for piece in [
        "results/reliability/qwen-demo/summary.parquet",
        "results/scores/qwen-demo/pool/noise.parquet",
        "results/datasets/pool/items.parquet",
        "results/corrupted/pool/noise.parquet",
        "results/datasets/shapes/images.parquet",
        "model.safetensors: ",
        "36 items",
        "6 images",
        "code ",
    ]:
        assert piece in told, piece


def test_why_leaves_the_other_models_answers_out(told):
    assert "llava-demo/bench" not in told and "results/reliability/llava-demo" not in told


def test_the_printed_command_remakes_the_same_bytes(copy):
    before = (copy / TABLE).read_bytes()
    done = vlmdx(copy, "why", TABLE, "--row", "llava-demo")
    command = shlex.split(done.stdout.strip().splitlines()[-1])
    assert command[0] == "snakemake"
    (copy / TABLE).write_text("")
    again = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *command[1:]],
        cwd=copy,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0, again.stderr
    assert "Scoring llava-demo" in again.stderr + again.stdout
    assert (copy / TABLE).read_bytes() == before


def test_an_unknown_row_is_answered_with_those_there_are(finished):
    done = vlmdx(finished, "why", TABLE, "--row", "gpt")
    assert done.returncode == 1 and "there are qwen-demo, llava-demo" in done.stdout


def test_diff_of_a_run_with_itself_is_empty(finished):
    done = vlmdx(finished, "diff", ".", ".")
    assert done.returncode == 0 and "0 jobs and 0 tables differ" in done.stdout


def test_diff_names_the_setting_and_the_cells_that_it_moved(finished, copy):
    config = (copy / SMALL).read_text()
    (copy / SMALL).write_text(config.replace("bootstrap: 200", "bootstrap: 100"))
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--configfile", SMALL, "--cores", "2", "--", TABLE],
        cwd=copy,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = vlmdx(copy, "diff", finished, copy).stdout
    assert "settings: bootstrap" in said
    a, b = (list(csv.DictReader((f / TABLE).open())) for f in (finished, copy))
    moved = {column for row_a, row_b in zip(a, b, strict=True) for column in row_a if row_a[column] != row_b[column]}
    assert moved and all(column in said for column in moved)


def test_a_crate_is_written_and_read_back_by_its_own_library(finished, tmp_path):
    done = vlmdx(finished, "crate", tmp_path / "crate")
    assert done.returncode == 0, done.stdout
    crate = ROCrate(tmp_path / "crate")
    actions = crate.get_by_type("CreateAction")
    jobs = [p for p in (finished / "results/provenance").rglob("*.json") if p.parent.name != "digests"]
    assert len(actions) == len(jobs) + 1
    assert crate.mainEntity.id == "Snakefile"
    assert (tmp_path / "crate" / TABLE).read_bytes() == (finished / TABLE).read_bytes()
    graph = json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text())["@graph"]
    known = {entity["@id"] for entity in graph}
    named = {other["@id"] for entity in graph for key in ("object", "result") for other in _listed(entity.get(key))}
    assert named and named <= known
    again = vlmdx(finished, "crate", tmp_path / "crate")
    assert again.returncode == 1 and "exists already" in again.stdout


def _listed(value):
    return value if isinstance(value, list) else [] if value is None else [value]
