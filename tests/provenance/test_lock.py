"""S07: the lock of a killed run goes, the lock of a living one stays."""

import json
import os
import socket
import subprocess
import sys

import psutil
import pytest
from vlmdx.provenance.lock import clear_stale_lock


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text("results/x")
    return tmp_path


def note(folder, **owner):
    (folder / ".snakemake" / "vlmdx-run.json").write_text(json.dumps(owner))


def locked(folder):
    return (folder / ".snakemake" / "locks").is_dir()


def test_s07_lock_of_a_dead_process_is_cleared(folder):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    note(folder, host=socket.gethostname(), pid=dead.pid, started=0)
    assert clear_stale_lock(folder) and not locked(folder)


def test_s07_lock_of_a_living_process_stays(folder):
    note(folder, host=socket.gethostname(), pid=os.getpid(), started=psutil.Process().create_time())
    assert not clear_stale_lock(folder) and locked(folder)


def test_s07_a_process_id_used_again_is_not_the_owner(folder):
    note(folder, host=socket.gethostname(), pid=os.getpid(), started=1.0)
    assert clear_stale_lock(folder) and not locked(folder)


def test_s07_another_host_is_never_judged(folder):
    note(folder, host="another-node", pid=1, started=0)
    assert not clear_stale_lock(folder) and locked(folder)


def test_s07_a_lock_nobody_signed_stays(folder):
    assert not clear_stale_lock(folder) and locked(folder)
