"""One digest per job: settings by name, files by content, models by revision or content."""

from pathlib import Path

from vlmdx.provenance import model_fingerprint, rule_digest
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
    monkeypatch.setattr("vlmdx.provenance.digest.metadata.version", lambda name: "0.0")
    assert len({first, second, rule_digest(script, {}, [prompt], ["numpy"])}) == 3


def test_a_local_model_is_its_content_wherever_it_stands(tmp_path):
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "model.safetensors").write_bytes(b"weights")
    first = model_fingerprint("one", None, tmp_path)
    assert first == model_fingerprint("two", None, tmp_path)
    (tmp_path / "two" / "model.safetensors").write_bytes(b"weightz")
    assert first != model_fingerprint("two", None, tmp_path)


def test_large_weights_are_told_apart_by_size_and_ends(tmp_path):
    path = tmp_path / "m" / "model.safetensors"
    path.parent.mkdir()
    path.write_bytes(bytes(SAMPLED_ABOVE + 1))
    first = model_fingerprint("m", None, tmp_path)
    path.write_bytes(bytes(SAMPLED_ABOVE) + b"\1")
    assert first != model_fingerprint("m", None, tmp_path)


def test_a_hub_model_is_its_id_and_revision():
    assert model_fingerprint("org/name", "abc", Path("/nowhere")) == {"source": "org/name", "revision": "abc"}
