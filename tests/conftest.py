"""One finished small run, shared by all tests that plan, audit or damage copies of it."""

import os

import pytest
from filelock import FileLock

from tests.workflow.project import copy_project, run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """S04: a checkout whose path has a space, a quote and brackets, with a whole small run in it.

    Read it, copy it; do not change it. Several pytest workers share one.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # the folder that all workers share
    folder, done = root / "my user's dir (x)", root / "finished"
    with FileLock(root / "finished.lock"):
        if not done.exists():
            made = run(copy_project(folder), "--quiet", "rules", "--", "all")
            assert made.returncode == 0, made.stdout
            done.touch()
    return folder
