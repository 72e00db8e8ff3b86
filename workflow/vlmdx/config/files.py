"""What a parsed config no longer shows: a key that stands twice in its file. YAML keeps the last, forgets the first."""

from collections.abc import Iterator
from pathlib import Path

import yaml


def repeated_keys(path: Path) -> list[str]:
    """One line per key that stands twice in one table, e.g. a model that was copied and not renamed."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except yaml.YAMLError:  # JSON with tabs, which Snakemake reads too
        return []
    return list(_repeated(root, [], set()))


def _repeated(node: yaml.Node | None, place: list[str], seen: set[int]) -> Iterator[str]:
    if node is None or id(node) in seen:  # an anchor may stand in many places, even in itself
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _repeated(entry, place, seen)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            line = key.start_mark.line + 1
            if name in lines and name not in ("<<", "?"):
                where = ".".join([*place, name])
                yield f"config: {where}: this key stands twice, in lines {lines[name]} and {line}; rename one"
            lines[name] = line
            yield from _repeated(value, [*place, name], seen)
