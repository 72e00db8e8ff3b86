"""S07, P01: accidents on one machine. The same command goes on, and the tables are those of an undisturbed run."""

import os
import signal
import subprocess
import time

import pytest

from tests.cluster.conftest import BOUND, MAIN, TABLES
from tests.workflow.project import command, environment, planned

LOCAL = ("--cores", "2", "--quiet", "rules")


def wait_for(condition, what, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.1)


def test_p01_a_job_that_dies_with_half_a_file_written(rerun, undisturbed):
    rerun.plan("reliability", "half")
    assert rerun.start(*LOCAL).wait(BOUND) != 0
    assert not list((rerun.folder / "results/reliability/qwen-demo").glob("[!.]*")), "half a file under a final name"
    rerun.finish(*LOCAL)
    assert rerun.tables() == undisturbed


def test_s07_snakemake_killed_and_started_again_by_the_same_command(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "600")
    process = rerun.start(*LOCAL)
    wait_for(lambda: not list(rerun.accidents.glob("*.accident")), "the sleeping job")
    process.kill()
    process.wait()
    said = rerun.finish(*LOCAL)
    assert "lock of an earlier run" in said
    assert rerun.tables() == undisturbed


def test_s07_two_at_once_one_is_refused_and_nothing_is_made_twice(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "20")
    first = rerun.start(*LOCAL)
    wait_for(lambda: not list(rerun.accidents.glob("*.accident")), "the sleeping job")
    second = subprocess.run(command("--", MAIN), cwd=rerun.folder, env=environment(), capture_output=True, text=True)
    assert second.returncode != 0 and "lock" in second.stderr.lower(), second.stderr
    assert first.wait(BOUND) == 0, rerun.said()
    assert rerun.tables() == undisturbed


def test_s07_interrupted_by_the_keyboard(rerun, undisturbed):
    rerun.plan("reliability", "sleep", "600")
    process = rerun.start(*LOCAL)
    wait_for(lambda: not list(rerun.accidents.glob("*.accident")), "the sleeping job")
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(BOUND) != 0
    rerun.finish(*LOCAL)
    assert rerun.tables() == undisturbed


@pytest.mark.parametrize("how", [["cp", "-a"], ["cp", "-r"]], ids=["with times", "without times"])
def test_s05_results_copied_to_another_place_are_taken_as_they_are(finished, tmp_path, how):
    folder = tmp_path / "elsewhere"
    subprocess.run([*how, os.fspath(finished), os.fspath(folder)], check=True)
    assert planned(folder, "all") == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root alone")
def test_a_full_disk_stops_with_a_message_and_is_made_good(rerun, undisturbed):
    """The results stand on a file system of their own, which is full before the job's files are."""
    results = rerun.folder / "results"
    aside = rerun.folder / "aside"
    results.rename(aside)
    results.mkdir()
    used = int(subprocess.run(["du", "-sk", aside], capture_output=True, text=True, check=True).stdout.split()[0])
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={used + 1024}k", "tmpfs", results])
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        subprocess.run(["cp", "-a", f"{aside}/.", results], check=True)
        with (results / "filler").open("wb", buffering=0) as filler:  # fill what is left, to the last block
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        assert rerun.start(*LOCAL).wait(BOUND) != 0
        assert "No space left on device" in rerun.said()
        (results / "filler").unlink()
        rerun.finish(*LOCAL)
        assert rerun.tables() == undisturbed
    finally:
        subprocess.run(["umount", results], check=True)


def test_the_tables_are_all_there(undisturbed):
    assert set(undisturbed) == set(TABLES) and all(undisturbed.values())
