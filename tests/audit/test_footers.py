"""Every artifact says what made it, in its own footer or in its job's record, and no secret stands in either."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from vlmdx.audit.audit import read_records
from vlmdx.config.paths import RESOLVED_CONFIG

from tests.audit.conftest import SECRETS, vlmdx

# Issue: rule, commit and dirty flag, code hash, parameters, inputs, model, versions, device, dtype, seed, host class.
IN_FOOTER = {
    *("rule", "wildcards", "digest", "code", "settings", "inputs", "git", "versions", "python"),
    *("model", "device", "dtype", "seed", "host_class"),
}
ONLY_IN_RECORD = {"outputs", "began", "seconds", "host", "slurm", "threads"}  # they differ between two equal runs
WITH_MODEL = {"score", "embed_pool", "effects", "plot_overlays"}


@pytest.fixture(scope="module")
def records(whole):
    found, damaged = read_records(whole / "results/provenance")
    assert not damaged
    return found


def footer_of(path):
    if path.suffix == ".parquet":
        return json.loads(pq.read_schema(path).metadata[b"vlmdx"])
    with safe_open(path, "np") as file:
        return json.loads(file.metadata()["vlmdx"])["provenance"]


def test_every_artifact_has_a_record_and_every_record_all_that_is_asked_for(whole, records):
    claimed = {path for record in records for path in record["outputs"]}
    files = {p for p in (whole / "results").rglob("*") if p.is_file() and p.name != ".snakemake_timestamp"}
    there = {p.relative_to(whole).as_posix() for p in files}
    about = {p for p in there if p.startswith(("results/provenance/", "results/benchmarks/"))} | {RESOLVED_CONFIG}
    assert there - about == claimed
    for record in records:
        assert set(record) >= IN_FOOTER | ONLY_IN_RECORD, record["rule"]


def test_every_parquet_and_safetensors_file_carries_the_record_of_its_job(whole, records):
    seen = 0
    for record in records:
        for path in map(Path, record["outputs"]):
            if path.suffix in (".parquet", ".safetensors"):
                footer = footer_of(whole / path)
                assert {key: footer[key] for key in IN_FOOTER} == {key: record[key] for key in IN_FOOTER}, path
                assert not ONLY_IN_RECORD & set(footer), path
                seen += 1
    assert seen > 40


def test_code_settings_and_versions_are_told_of_every_job(records):
    for record in records:
        assert len(record["code"]) == 64 and len(record["digest"]) == 32, record["rule"]
        assert {"torch", "numpy", "pyarrow", "snakemake"} <= set(record["versions"])
        assert isinstance(record["settings"], dict) and record["host_class"] and record["python"]
    corrupt = next(record for record in records if record["rule"] == "corrupt")
    assert {"imagecorruptions-imaug", "opencv-python", "scipy"} <= set(corrupt["versions"])


def test_a_job_that_loads_a_model_tells_source_and_processor_and_no_other_does(records):
    assert {record["rule"] for record in records if record["model"]} == WITH_MODEL
    for record in records:
        if record["model"]:
            assert record["model"]["source"].startswith("resources/models/") and len(record["model"]["processor"]) == 64
        if record["rule"] in ("score", "effects"):
            assert record["device"] and record["dtype"] == "float32"


def test_no_secret_of_the_environment_is_written_down(whole, tmp_path):
    assert vlmdx(whole, "crate", tmp_path / "crate", **SECRETS).returncode == 0
    places = [whole / "results", whole / "logs", whole / ".snakemake", tmp_path / "crate"]
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    assert len(files) > 200
    for file in files:
        content = file.read_bytes()
        assert not any(secret.encode() in content for secret in SECRETS.values()), file
