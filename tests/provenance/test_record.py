"""A job's record: hash and size of all it wrote, with what the footer cannot hold."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from vlmdx.provenance import digest_of, digest_parts, rule_digest
from vlmdx.provenance.facts import model_facts
from vlmdx.provenance.footer import file_sha256
from vlmdx.provenance.parts import damaged_parts, keep_parts, read_parts
from vlmdx.provenance.record import (
    DamagedRecord,
    forget_record,
    read_record,
    record_files,
    write_record,
)

SETTINGS = {"readout": "letter", "source": "nowhere", "dtype": "float32", "seed": 3}


class Named(list):
    """Stands in for Snakemake's named lists."""

    def __init__(self, *values, **named):
        super().__init__([*values, *named.values()])
        self.__dict__.update(named)
        self.named = named

    def items(self):
        return self.named.items()

    def get(self, key):
        return self.named.get(key)


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/pictures").mkdir(parents=True)
    (tmp_path / "results/pictures/1.png").write_bytes(b"one")
    (tmp_path / "results/table.csv").write_text("a,b\n")
    (tmp_path / "input.txt").write_text("in")
    return SimpleNamespace(
        rule="score",
        wildcards=Named(model="qwen", family="noise"),
        params=Named(digest="d" * 32, settings=SETTINGS),
        input=Named("input.txt"),
        output=Named("results/table.csv", pictures="results/pictures"),
        threads=2,
    )


def test_outputs_of_every_kind_are_recorded_with_hash_and_size(job):
    write_record(job, datetime.now(UTC), 1.5)
    (path,) = record_files()
    assert path.as_posix() == "results/provenance/score/qwen/noise.json"
    record = read_record(path)
    assert set(record["outputs"]) == {"results/table.csv", "results/pictures/1.png"}
    assert record["outputs"]["results/pictures/1.png"]["size"] == 3
    assert record["inputs"] == {"input.txt": file_sha256(job_path("input.txt"))}
    assert record["seconds"] == 1.5 and record["dtype"] == "float32" and record["seed"] == 3
    assert record["model"] == {"source": "nowhere", "revision": None, "processor": None}


def job_path(name):
    from pathlib import Path

    return Path(name)


def test_every_single_byte_that_changes_in_a_record_is_seen(job):
    write_record(job, datetime.now(UTC), 1.5)
    (path,) = record_files()
    whole = path.read_bytes()
    kept = read_record(path)
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(DamagedRecord, match=str(path)):
            read_record(path)
    path.write_bytes(whole)
    assert read_record(path) == kept


def test_a_job_that_starts_again_takes_its_old_record_away(job):
    write_record(job, datetime.now(UTC), 1.5)
    forget_record(job)
    assert record_files() == []
    forget_record(job)


def test_parts_are_kept_under_their_digest_and_refused_when_changed(tmp_path):
    script = tmp_path / "x.py"
    script.write_text("print(1)")
    parts = digest_parts(script, {"settings": {"severities": (1, 2)}, "before": [], "content": None}, [], ["numpy"])
    digest = rule_digest(script, {"settings": {"severities": (1, 2)}, "before": [], "content": None}, [], ["numpy"])
    assert digest_of(parts) == digest
    keep_parts({digest: parts}, tmp_path)
    assert read_parts(digest, tmp_path) == json.loads(json.dumps(parts))
    file = tmp_path / "digests" / f"{digest}.json"
    file.write_text(file.read_text().replace("[1, 2]", "[1, 3]"))
    assert read_parts(digest, tmp_path) is None
    assert read_parts("0" * 32, tmp_path) is None


def test_a_job_that_opens_several_models_tells_them_by_role():
    found = model_facts(
        {"questioner": {"source": "nowhere", "revision": "a"}, "answerer": {"source": "else"}, "seed": 1}
    )
    assert found["models"] == {
        "questioner": {"source": "nowhere", "revision": "a", "processor": None},
        "answerer": {"source": "else", "revision": None, "processor": None},
    }
    assert found["model"] == found["models"]["questioner"]
    assert model_facts({"importer": "gqa", "options": {"questions": "q.json"}}) == {"model": None}


def test_a_kept_file_of_parts_that_was_touched_is_named_and_written_again(tmp_path):
    parts = {"code": "a", "settings": {"settings": {}, "before": [], "content": None}, "files": {}, "libraries": {}}
    digest = digest_of(parts)
    keep_parts({digest: parts}, tmp_path)
    file = tmp_path / "digests" / f"{digest}.json"
    assert list(damaged_parts(tmp_path)) == []
    file.write_text(file.read_text().replace(": ", ":  ", 1))  # the same content in other white space
    assert list(damaged_parts(tmp_path)) == [file]
    keep_parts({digest: parts}, tmp_path)
    assert list(damaged_parts(tmp_path)) == []
