"""What is generated from the typed classes has not drifted; a difference is shown as a diff."""

import difflib
from pathlib import Path

import pytest
import yaml
from vlmdx.config import docs, load
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["config.yaml", "schema.json", "README.md"])
def test_generated_files_are_current(name):
    shipped = (ROOT / "config" / name).read_text(encoding="utf-8")
    made = {
        "config.yaml": docs.default_yaml,
        "schema.json": docs.json_schema,
        "README.md": lambda: docs.manual(shipped),
    }[name]()
    diff = "\n".join(difflib.unified_diff(shipped.splitlines(), made.splitlines(), "shipped", "generated", lineterm=""))
    assert not diff, f"run `make docs`:\n{diff}"


def test_shipped_yaml_is_the_embedded_default():
    assert load(yaml.safe_load(docs.default_yaml())) == load(DEMO)


def test_every_field_is_described():
    bare = [row for row in docs.table().splitlines()[2:] if row.rstrip().endswith("|  |")]
    assert not bare
