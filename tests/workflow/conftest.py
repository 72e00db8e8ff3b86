"""One finished small run, shared by the tests that only plan over it."""

import pytest

from tests.workflow.project import copy_project, run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """S04: a checkout whose path has a space, a quote and brackets, with a whole small run in it."""
    folder = copy_project(tmp_path_factory.mktemp("run") / "my user's dir (x)")
    done = run(folder, "--quiet", "rules", "--", "all")
    assert done.returncode == 0, done.stdout
    return folder
