"""The code hash sees what can change a number and nothing else."""

import shutil
from pathlib import Path

import pytest
from vlmdx.provenance import code

PACKAGE = Path(code.__file__).parents[1]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package to edit: a script that uses one function of one room."""
    root = tmp_path / "vlmdx"
    (root / "room").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "room" / "__init__.py").write_text("from vlmdx.room.work import used\n")
    (root / "room" / "work.py").write_text(
        '"""Doc."""\nfrom vlmdx.other import helper\nLIMIT = 3\n\ndef used(x):\n    return helper(x) + LIMIT\n\n'
        "def unused(x):\n    return x\n"
    )
    (root / "other.py").write_text("def helper(x):\n    return x\n\ndef idle():\n    return 0\n")
    (tmp_path / "script.py").write_text("from vlmdx.room import used\nprint(used(1))\n")
    monkeypatch.setattr(code, "PACKAGE", root)
    code._cached.cache_clear()
    yield tmp_path
    code._cached.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    code._cached.cache_clear()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("vlmdx/room/work.py", "LIMIT = 3", "LIMIT = 4"),
        ("vlmdx/room/work.py", "helper(x) + LIMIT", "helper(x) - LIMIT"),
        ("vlmdx/other.py", "    return x\n", "    return x + 1\n"),
        ("script.py", "used(1)", "used(2)"),
        ("vlmdx/room/work.py", "LIMIT = 3\n", "LIMIT = 3\nimport warnings\nwarnings.simplefilter('error')\n"),
    ],
)
def test_s05_code_that_can_change_the_result_changes_the_digest(package, file, old, new):
    before = code.code_digest(package / "script.py")
    edit(package / file, old, new)
    assert code.code_digest(package / "script.py") != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("vlmdx/room/work.py", '"""Doc."""', '"""Other words."""'),
        ("vlmdx/room/work.py", "LIMIT = 3", "LIMIT = 3  # why three"),
        ("vlmdx/room/work.py", "def used(x):\n", 'def used(x):\n    """Now with a docstring."""\n'),
        ("vlmdx/room/work.py", "def unused(x):\n    return x", "def unused(x):\n    return -x"),
        ("vlmdx/other.py", "return 0", "return 1"),
    ],
)
def test_s05_comments_docstrings_and_unreached_code_do_not(package, file, old, new):
    before = code.code_digest(package / "script.py")
    edit(package / file, old, new)
    assert code.code_digest(package / "script.py") == before


def test_touch_and_another_place_change_nothing(package, tmp_path):
    before = code.code_digest(package / "script.py")
    copy = shutil.copy(package / "script.py", tmp_path / "elsewhere.py")
    (package / "script.py").touch()
    assert code.code_digest(package / "script.py") == before
    assert Path(copy).read_text() == (package / "script.py").read_text()


def test_a_module_imported_by_name_counts_when_declared(package):
    before = code.code_digest(package / "script.py", ["vlmdx.other"])
    edit(package / "vlmdx/other.py", "return 0", "return 1")
    assert code.code_digest(package / "script.py", ["vlmdx.other"]) != before


@pytest.mark.parametrize("line", ["from . import other", "from vlmdx.other import *"])
def test_imports_that_cannot_be_followed_are_refused(package, line):
    edit(package / "script.py", "from vlmdx.room import used", line)
    with pytest.raises(ValueError, match=r"script\.py:1"):
        code.code_digest(package / "script.py")


def test_every_script_of_the_workflow_can_be_followed():
    scripts = sorted((PACKAGE.parent / "scripts").glob("*.py"))
    assert len(scripts) >= 15
    digests = {code.code_digest(script) for script in scripts}
    assert len(digests) == len(scripts)
