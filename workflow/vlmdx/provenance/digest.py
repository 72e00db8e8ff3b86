"""One digest string per job over everything that can change its result and that Snakemake does not see.

Snakemake reruns a script when the file's time moves and never when a module it imports changes; it compares params as
a set of values. Each rule therefore carries this digest as its one decisive param. Only the standard library is
imported: the Snakefile runs this at parse time, twice per cluster job.
"""

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]  # the folder workflow/vlmdx
SAMPLED_ABOVE = 16 * 2**20  # bytes; larger weight files are sampled, see model_fingerprint


def rule_digest(
    script: Path,
    settings: Any,
    files: Iterable[Path] = (),
    libraries: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> str:
    """Digest of one job.

    Args:
        script: the rule's script; it and all of the package it imports count as syntax trees.
        settings: the part of the resolved config that the job reads, JSON-able, names included.
        files: prompts, SQL and the like, counted byte by byte.
        libraries: distributions whose version can change the numbers.
        modules: package modules that the script imports by name at run time, which no syntax tree shows.

    Returns:
        32 hex digits.
    """
    parts = {
        "code": code_digest(script, tuple(modules)),
        "settings": settings,
        "files": {path.name: _sha256(path.read_bytes()) for path in sorted(files)},
        "libraries": {name: metadata.version(name) for name in sorted(libraries)},
    }
    return _sha256(json.dumps(parts, sort_keys=True, default=str).encode())[:32]


def code_digest(script: Path, modules: Iterable[str] = ()) -> str:
    """Digest over the syntax trees of ``script`` and of every package module it reaches, comments and docstrings out.

    Imports inside functions count. Files of the package's other kinds (SQL) go into ``files`` of :func:`rule_digest`.
    """
    reached: dict[str, str] = {}
    waiting = [script, *(_module_files(name) for name in modules)]
    waiting = [p for entry in waiting for p in (entry if isinstance(entry, list) else [entry])]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
        if name not in reached:
            reached[name], imported = _parsed(path, path.stat().st_mtime_ns)
            waiting += [file for module in imported for file in _module_files(module)]
    return _sha256(json.dumps(reached, sort_keys=True).encode())


def model_fingerprint(source: str, revision: str | None, root: Path) -> Mapping[str, Any]:
    """What identifies a model: hub id and revision, or the content of a local folder's files.

    Files up to 16 MiB count in full; of larger ones the size and the first and last MiB, because the Snakefile cannot
    read 70 GB of weights at every start. A safetensors file has its tensor table in the first MiB.
    """
    folder = root / source
    if not folder.is_dir():
        return {"source": source, "revision": revision}
    return {path.relative_to(folder).as_posix(): _content(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def _content(path: Path) -> str:
    size = path.stat().st_size
    if size <= SAMPLED_ABOVE:
        return _sha256(path.read_bytes())
    with path.open("rb") as file:
        head = file.read(2**20)
        file.seek(size - 2**20)
        return f"{size}:{_sha256(head + file.read())}"


@functools.cache
def _parsed(path: Path, _mtime_ns: int) -> tuple[str, tuple[str, ...]]:
    """(digest of the syntax tree, names of the package modules it imports); cached for the life of the process."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return _sha256(ast.dump(_without_docstrings(tree)).encode()), tuple(sorted(_imports(tree)))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = node.body[1:]
    return tree


def _imports(tree: ast.Module) -> set[str]:
    """Names that may be package modules: ``import a.b`` gives a.b, ``from a import b`` gives a and a.b."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"relative import in line {node.lineno}: write it absolute, the code hash follows names")
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name == "vlmdx" or name.startswith("vlmdx.")}


def _module_files(module: str) -> list[Path]:
    """Files that importing ``module`` runs: the module and the ``__init__`` of each package above it."""
    parts = module.split(".")[1:]
    files = [PACKAGE.joinpath(*parts[:depth], "__init__.py") for depth in range(len(parts) + 1)]
    if parts:
        files.append(PACKAGE.joinpath(*parts).with_suffix(".py"))
    return [file for file in files if file.is_file()]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
