"""A digest of the code that a script can reach: definition by definition, comments and docstrings left out.

Whole modules would be simpler, but then a new table in the contracts, or a new metric beside an old one, would rerun
every scoring job. So `from vlmdx.schema.tables import SCORES` counts the statements that define SCORES and, in turn,
the names those statements use. Statements that define nothing (a module's side effects) always count once the module
is reached. The room `provenance` itself is left out: it writes records and logs, and cannot change a number.
"""

import ast
import functools
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # the folder workflow/vlmdx
WHOLE = "*"  # stands for all names of a module
LEFT_OUT = "vlmdx.provenance"

Reference = tuple[str, str]  # (module, name in it or WHOLE)
# (script, modules) -> times of the files it reaches, and its digest: a plan asks for the same scripts a thousand times.
_DIGESTS: dict[tuple[Path, tuple[str, ...]], tuple[dict[Path, int], str]] = {}


def code_digest(script: Path, modules: Iterable[str] = ()) -> str:
    """Digest over ``script`` and all package code it reaches.

    Args:
        script: a file; all of it counts.
        modules: package modules that the script imports by name at run time, which no syntax tree shows.

    Raises:
        ValueError: relative or star import, or a name that a module does not define: the trail would be lost.
    """
    key = (script, modules := tuple(modules))
    stamps, digest = _DIGESTS.get(key, ({}, ""))
    if stamps and all(_mtime(path) == stamp for path, stamp in stamps.items()):
        return digest
    stamps = {script: _mtime(script)}
    root = _Module(script, "")
    reached = {f"{script.name}:{position}": digest for position, digest in enumerate(root.digests)}
    waiting = {r for i in range(len(root.digests)) for r in root.outside(i)} | {(name, WHOLE) for name in modules}
    seen: set[Reference] = set()
    while waiting:
        module_name, name = waiting.pop()
        if (module_name, name) in seen or module_name.startswith(LEFT_OUT):
            continue
        seen.add((module_name, name))
        module = _module(module_name)
        stamps[module.path] = _mtime(module.path)
        for position in module.closure(name):
            reached[f"{module_name}:{module.digests[position]}"] = ""
            waiting |= module.outside(position)
        waiting |= {(parent, "") for parent in _parents(module_name)}
    digest = hashlib.sha256(json.dumps(reached, sort_keys=True).encode()).hexdigest()
    _DIGESTS[key] = (stamps, digest)
    return digest


class _Module:
    """The top-level statements of one file: what each defines, uses and imports."""

    def __init__(self, path: Path, name: str) -> None:
        tree = _without_docstrings(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
        self.path, self.name = path, name
        self.imports: dict[str, Reference] = {}
        for node in ast.walk(tree):
            self.imports |= _imports(node, path)
        statements = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
        self.digests = [hashlib.sha256(ast.dump(s).encode()).hexdigest() for s in statements]
        self.defines = [_defined(s) for s in statements]
        self.uses = [{n.id for n in ast.walk(s) if isinstance(n, ast.Name)} for s in statements]

    def closure(self, name: str) -> set[int]:
        """Positions of the statements behind ``name``; an empty name asks for the side effects alone."""
        everything = range(len(self.digests))
        if name == WHOLE:
            return set(everything)
        chosen = {i for i in everything if not self.defines[i] or name in self.defines[i]}
        if name and name not in self.imports and not any(name in d for d in self.defines):
            raise ValueError(f"{self.path}: no top-level name {name!r}; the code hash cannot follow it")
        waiting = set(chosen)
        while waiting:
            uses = self.uses[waiting.pop()]
            found = {i for i in everything if self.defines[i] & uses} - chosen
            chosen |= found
            waiting |= found
        return chosen

    def outside(self, position: int) -> set[Reference]:
        """What the statement uses of other modules."""
        return {self.imports[name] for name in self.uses[position] if name in self.imports}


def _mtime(path: Path) -> int:
    return path.stat().st_mtime_ns


def _module(name: str) -> "_Module":
    path = _file(name)
    if path is None:
        raise ValueError(f"{name}: no such module in {PACKAGE}")
    return _cached(path, name, _mtime(path))


@functools.cache
def _cached(path: Path, name: str, _mtime_ns: int) -> "_Module":
    module = _Module(path, name)
    # A re-export (`from vlmdx.schema.io import write_table` in an __init__) is followed as if it were a definition.
    for exported, target in module.imports.items():
        if not any(exported in d for d in module.defines):
            module.digests.append(hashlib.sha256(f"import {exported} {target}".encode()).hexdigest())
            module.defines.append({exported})
            module.uses.append({exported})
    return module


def _file(name: str) -> Path | None:
    base = PACKAGE.joinpath(*name.split(".")[1:])
    for path in (base / "__init__.py", base.parent / f"{base.name}.py"):
        if path.is_file():
            return path
    return None


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _imports(node: ast.AST, path: Path) -> dict[str, Reference]:
    """Local name -> what it refers to, for imports of the package."""
    if isinstance(node, ast.Import):
        # `import vlmdx.a.b` binds `vlmdx`: what is used of it cannot be told from names, so all of the module counts.
        return {(a.asname or a.name.split(".")[0]): (a.name, WHOLE) for a in node.names if _ours(a.name)}
    if isinstance(node, ast.ImportFrom):
        if node.level:
            raise ValueError(f"{path}:{node.lineno}: relative import; write it absolute, the code hash follows names")
        if not _ours(node.module or ""):
            return {}
        if any(alias.name == "*" for alias in node.names):
            raise ValueError(f"{path}:{node.lineno}: star import; name what is used, the code hash follows names")
        found: dict[str, Reference] = {}
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            is_module = _file(submodule) is not None
            found[alias.asname or alias.name] = (submodule, WHOLE) if is_module else (node.module or "", alias.name)
        return found
    return {}


def _ours(module: str) -> bool:
    return module == "vlmdx" or module.startswith("vlmdx.")


def _defined(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[1 if ast.get_docstring(node, clean=False) is not None else 0 :]
    # A string that stands alone after an assignment documents it (`DEMO = ...` then text) and runs nothing either.
    tree.body = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return tree
