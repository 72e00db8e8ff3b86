"""One digest per job: settings by name, files by content, models by revision or content."""

import json

import pytest
from vlmdx.provenance import fingerprint, rule_digest
from vlmdx.provenance.digest import SAMPLED_ABOVE


def test_swapped_values_are_seen(tmp_path):
    script = tmp_path / "x.py"
    script.write_text("print(1)")
    assert rule_digest(script, {"a": 1, "b": 2}) != rule_digest(script, {"a": 2, "b": 1})
    assert rule_digest(script, {"a": 1, "b": 2}) == rule_digest(script, {"b": 2, "a": 1})


def test_prompt_files_and_library_versions_count(tmp_path, monkeypatch):
    script, prompt = tmp_path / "x.py", tmp_path / "letter.txt"
    script.write_text("print(1)")
    prompt.write_text("Answer.")
    first = rule_digest(script, {}, [prompt], ["numpy"])
    prompt.write_text("Answer!")
    second = rule_digest(script, {}, [prompt], ["numpy"])
    monkeypatch.setattr("vlmdx.provenance.digest.library_version", lambda name: "0.0")
    assert len({first, second, rule_digest(script, {}, [prompt], ["numpy"])}) == 3


@pytest.fixture(autouse=True)
def forget():
    """A process reads each file once; a test changes files under its feet."""
    fingerprint.cache_clear()


def model(folder, weights: bytes):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    fingerprint.cache_clear()
    return fingerprint(folder)


def test_a_local_model_is_its_content_wherever_it_stands(tmp_path):
    assert model(tmp_path / "one", b"weights") == model(tmp_path / "two", b"weights")
    assert model(tmp_path / "one", b"weights") != model(tmp_path / "two", b"weightz")


def test_large_weights_are_told_apart_by_size_and_ends(tmp_path):
    one, two = bytes(SAMPLED_ABOVE + 1), bytes(SAMPLED_ABOVE) + b"\1"
    assert len({json.dumps(model(tmp_path / "m", weights)) for weights in (one, two, one + b"\0")}) == 3


def test_a_folder_of_pictures_is_its_names_and_sizes(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"1")
    first = fingerprint(tmp_path)
    (tmp_path / "a.jpg").touch()
    fingerprint.cache_clear()
    assert fingerprint(tmp_path) == first
    (tmp_path / "b.jpg").write_bytes(b"2")
    fingerprint.cache_clear()
    assert fingerprint(tmp_path) != first


def test_a_missing_path_is_called_missing(tmp_path):
    assert fingerprint(tmp_path / "absent.tsv") == {"absent.tsv": "missing"}
