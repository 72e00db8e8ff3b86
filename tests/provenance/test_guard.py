"""S07: no second run beside the cluster jobs of a killed one."""

import os

import pytest
from vlmdx.provenance.guard import orphans, refuse_beside_orphans


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A `squeue` that prints the lines given."""

    def put(*lines, status=0):
        tool = tmp_path / "bin" / "squeue"
        tool.parent.mkdir(exist_ok=True)
        text = "\n".join(lines)
        tool.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")

    return put


def test_s07_jobs_of_this_folder_stop_the_start_and_are_named(queue, tmp_path):
    folder = tmp_path / "my user's dir (x)"
    folder.mkdir()
    queue(f"17 {folder}", "18 /elsewhere", f"21_4 {folder}")
    assert orphans(folder) == ["17", "21_4"]
    with pytest.raises(RuntimeError, match="scancel 17 21_4"):
        refuse_beside_orphans(folder)


def test_jobs_of_other_folders_do_not(queue, tmp_path):
    queue("18 /elsewhere", "19")
    refuse_beside_orphans(tmp_path)


def test_s08_a_queue_that_does_not_answer_stops_nothing(queue, tmp_path):
    queue(f"17 {tmp_path}", status=1)
    refuse_beside_orphans(tmp_path)


def test_no_slurm_no_orphans(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert orphans(tmp_path) == []
