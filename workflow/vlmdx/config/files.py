"""Read a config file as Snakemake reads it, but answer for every text: what cannot be read is told with its line.

Snakemake parses what stands behind `--configfile` before any line of this package runs, and shows a Python traceback
for bytes that are no UTF-8, impossible dates and numbers, and the like. What is read here instead: the embedded
default, and every file that the command `vlmdx` is given (`vlmdx check-config`).
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from vlmdx.config.load import ConfigError

LARGEST = 4096  # bits of a whole number: Python reads hexadecimal ones that it then refuses to write


def read_config(path: Path) -> dict[str, Any]:
    """The keys of a config file.

    Raises:
        ConfigError: the file cannot be read, holds no table of keys, or one key twice; a line per mistake.
    """
    keys = parse(path)
    if not isinstance(keys, dict):
        raise ConfigError(f"config: {path}: no table of keys; write `key: value`, one a line")
    if "__use_yte__" in keys:
        raise ConfigError(f"config: {path}: templates (__use_yte__) run as Python; write the values out")
    return keys


def parse(path: Path) -> Any:
    """The value of a JSON file, or else YAML file, in the order in which Snakemake tries them; None if it is empty.

    Raises:
        ConfigError: the file cannot be read, or a key stands twice in it.
    """
    text = _text(path)
    try:
        read = _json(text)
        value, repeated = _yaml(text) if read is None else read
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        line = f", line {place.line + 1}" if place else ""
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"config: {path}{line}: {_shown(said)}") from error
    except yaml.reader.ReaderError as error:
        line = f", line {text.count(chr(10), 0, error.position) + 1}"
        raise ConfigError(f"config: {path}{line}: character U+{ord(text[error.position]):04X} is no text") from error
    except RecursionError as error:
        raise ConfigError(f"config: {path}: brackets or blocks are nested too deeply") from error
    if repeated:
        raise ConfigError("\n".join(repeated))
    return value


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"config: {path}: cannot be read ({error.strerror})") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"config: {path}, line {line}: byte 0x{data[error.start]:02x} is no UTF-8; save the file as UTF-8"
        ) from error


def _json(text: str) -> tuple[Any, list[str]] | None:
    """Value and repeated keys of a JSON text; None if it is no JSON."""
    repeated: list[str] = []

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        repeated.extend(f"config: {_shown(name)}: this key stands twice in one table; rename one" for name in twice)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=table), repeated
    except ValueError:
        return None


class _Loader(yaml.SafeLoader):
    """Names the line where PyYAML lets Python's own exceptions through: 2024-13-45, 0x_, "\\Uffffffff"."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and value.bit_length() > LARGEST:
                raise OverflowError
            return value
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:
            said = f"{node.value!r:.60} cannot be read as {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from error

    def get_single_node(self) -> yaml.Node | None:
        try:
            return super().get_single_node()
        except (ValueError, OverflowError) as error:
            raise yaml.scanner.ScannerError(None, None, f"no such character ({error})", self.get_mark()) from error


def _yaml(text: str) -> tuple[Any, list[str]]:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        # Before the values are made: a merge key (`<<`) then changes the node.
        repeated = [] if root is None else list(_repeated(root, [], set()))
        return None if root is None else loader.construct_document(root), repeated
    finally:
        loader.dispose()


def _repeated(node: yaml.Node, place: list[str], seen: set[int]) -> Iterator[str]:
    """One line per key that stands twice in one table: YAML keeps the last and forgets the first."""
    if id(node) in seen:  # an anchor may stand in many places, even in itself
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _repeated(entry, place, seen)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            name = _shown(str(key.value)) if isinstance(key, yaml.ScalarNode) else "?"
            line = key.start_mark.line + 1
            if name in lines and name not in ("<<", "?"):
                where = ".".join([*place, name])
                yield f"config: {where}: this key stands twice, in lines {lines[name]} and {line}; rename one"
            lines[name] = line
            yield from _repeated(value, [*place, name], seen)


def _shown(text: str) -> str:
    """``text`` on one line, whatever characters it holds."""
    return text if text.isprintable() else repr(text)
