"""A room imports only the rooms to its left (docs/architecture.md); config, provenance and stats serve all."""

import ast
from pathlib import Path

import pytest
import vlmdx

PACKAGE = Path(vlmdx.__file__).parent
ORDER = ["schema", "images", "datasets", "corruptions", "models", "scoring", "selection", "discovery"]
ORDER += ["reliability", "mechanism", "report", "demo", "audit", "cli"]
BESIDE = [{"selection", "reliability", "mechanism"}, {"discovery", "reliability", "mechanism"}]
# Rooms that all may use, and what they themselves stand on; config/jobs.py asks models/families.py for module names.
FOR_ALL = {"provenance": {"schema"}, "stats": {"schema"}, "config": {"schema", "provenance", "models"}}
# Code that computes takes plain values, so that an edit of the config classes does not change its hash.
CONFIG_READERS = {"config", "audit", "cli"}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("vlmdx.")}
    return found


@pytest.mark.parametrize("room", sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"))
def test_room_imports_leftwards(room):
    for path in (PACKAGE / room).rglob("*.py"):
        for other in imports(path) - {room}:
            if room in FOR_ALL:
                assert other in FOR_ALL[room], f"{path} imports {other}; {room} stands on {FOR_ALL[room]}"
            elif other == "config":
                assert room in CONFIG_READERS, f"{path} imports config"
            elif other not in FOR_ALL:
                assert ORDER.index(other) < ORDER.index(room), f"{path} imports {other}, which stands to its right"
                beside = any({room, other} <= group for group in BESIDE)
                assert not beside, f"{path} imports {other}, which stands beside it"


def test_every_room_has_tests():
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    tested = {p.name for p in Path(__file__).parent.iterdir() if p.is_dir() and any(p.glob("test_*.py"))}
    assert rooms <= tested
