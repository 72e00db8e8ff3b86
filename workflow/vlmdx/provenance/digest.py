"""One digest string per job over everything that can change its result and that Snakemake does not see.

Snakemake reruns a script when the file's time moves and never when a module it imports changes; it compares params as
a set of values. Each rule therefore carries this digest as its one decisive param. Only the standard library is
imported: the Snakefile runs this at parse time, twice per cluster job.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from vlmdx.provenance.code import code_digest

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


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
