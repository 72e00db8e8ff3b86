"""The record in a file's footer: which rule, code, settings, inputs, model, device and environment made it.

Nothing here depends on when or how long a job ran, so that the same job on the same machine writes the same bytes;
times stand in the job's record (:mod:`vlmdx.provenance.record`).
"""

import functools
import hashlib
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from vlmdx.provenance.digest import library_version
from vlmdx.provenance.facts import compute_facts, model_facts
from vlmdx.provenance.parts import read_parts

# Told of every job; those that its own digest names come on top.
LIBRARIES = ("numpy", "pyarrow", "duckdb", "pillow", "torch", "torchvision", "transformers", "tokenizers", "snakemake")


def footer(snakemake: Any, **extra: Any) -> dict[str, Any]:
    """Provenance of a job's outputs, JSON-able, for :func:`vlmdx.schema.write_table`.

    ``code`` is the hash of the script and of all package code that it reaches, a part of the digest.

    Args:
        snakemake: the object Snakemake gives a script.
        extra: what only the job knows; overrides what is found out here.
    """
    settings = snakemake.params.get("settings")
    parts = read_parts(snakemake.params.digest) or {}
    return {
        "rule": snakemake.rule,
        "wildcards": dict(snakemake.wildcards.items()),
        "digest": snakemake.params.digest,
        "code": parts.get("code"),
        "settings": settings,
        "inputs": {str(path): file_sha256(Path(path)) for path in snakemake.input if Path(path).is_file()},
        "git": git_state(),
        "versions": {name: library_version(name) for name in sorted({*LIBRARIES, *parts.get("libraries", ())})},
        "python": sys.version.split()[0],
        "host_class": f"{platform.system()}-{platform.machine()}",
        **compute_facts(settings or {}),
        **model_facts(settings or {}),
        **extra,
    }


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in blocks; a process reads a file again only when it has changed."""
    status = path.stat()
    return _file_sha256(path, status.st_size, status.st_mtime_ns, status.st_ino)


@functools.lru_cache(maxsize=4096)
def _file_sha256(path: Path, _size: int, _mtime_ns: int, _inode: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def git_state() -> dict[str, Any]:
    """Commit of the code and whether tracked files differ from it; NULLs outside a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    status = git("status", "--porcelain", "--untracked-files=no")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}
