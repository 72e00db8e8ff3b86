"""One digest string per job over everything that can change its result and that Snakemake does not see.

Snakemake reruns a script when the file's time moves and never when a module it imports changes; it compares params as
a set of values. Each rule therefore carries this digest as its one decisive param. Only the standard library is
imported: the Snakefile runs this at parse time, twice per cluster job.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from vlmdx.provenance.code import code_digest

SAMPLED_ABOVE = 16 * 2**20  # bytes; larger weight files are sampled, see fingerprint


def digest_parts(
    script: Path,
    settings: Any,
    files: Iterable[Path] = (),
    libraries: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> dict[str, Any]:
    """What a job's digest is taken over, part by part, so that an audit can say which part changed.

    Args:
        script: the rule's script; it and all of the package it imports count as syntax trees.
        settings: the part of the resolved config that the job reads, JSON-able, names included.
        files: prompts, SQL and the like, counted byte by byte.
        libraries: distributions whose version can change the numbers.
        modules: package modules that the script imports by name at run time, which no syntax tree shows.

    Returns:
        JSON-able, with the keys code, settings, files, libraries.
    """
    return {
        "code": code_digest(script, tuple(modules)),
        "settings": settings,
        "files": {path.name: _sha256(path.read_bytes()) for path in sorted(files)},
        "libraries": {name: library_version(name) for name in sorted(libraries)},
    }


@functools.cache
def library_version(name: str) -> str:
    """Version of an installed distribution, looked up once: a plan asks thousands of times, at milliseconds each."""
    return metadata.version(name)


def digest_of(parts: Mapping[str, Any]) -> str:
    """The digest of :func:`digest_parts`, before or after a way through JSON: 32 hex digits."""
    return _sha256(json.dumps(parts, sort_keys=True, default=str).encode())[:32]


def rule_digest(
    script: Path,
    settings: Any,
    files: Iterable[Path] = (),
    libraries: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> str:
    """Digest of one job, 32 hex digits; arguments as in :func:`digest_parts`."""
    return digest_of(digest_parts(script, settings, files, libraries, modules))


@functools.cache
def fingerprint(path: Path) -> dict[str, str]:
    """What identifies a file or folder that the workflow did not make: its content, wherever and whenever it was put.

    A folder with a config.json is a model and counts file by file; any other folder counts by the names and sizes of
    its files, since it may hold a hundred thousand pictures. Of a file above 16 MiB the size and the first and last
    MiB count: the Snakefile cannot read 70 GB of weights at every start.

    Returns:
        Relative name -> digest; "missing" for a path that does not exist, which Snakemake then reports by itself.
    """
    if path.is_file():
        return {path.name: _content(path)}
    if not path.is_dir():
        return {path.name: "missing"}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    if (path / "config.json").is_file():
        return {file.relative_to(path).as_posix(): _content(file) for file in files}
    listing = json.dumps([(file.relative_to(path).as_posix(), file.stat().st_size) for file in files])
    return {path.name: f"{len(files)} files, {_sha256(listing.encode())}"}


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
