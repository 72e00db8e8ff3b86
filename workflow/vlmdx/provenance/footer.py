"""The record in a file's footer: which rule, code, settings, inputs and environment made it."""

import hashlib
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "pyarrow", "duckdb", "pillow", "torch", "torchvision", "transformers", "tokenizers", "snakemake")


def footer(snakemake: Any, **extra: Any) -> dict[str, Any]:
    """Provenance of a job's outputs, JSON-able, for :func:`vlmdx.schema.write_table`.

    Args:
        snakemake: the object Snakemake gives a script.
        extra: what only the job knows, such as device and dtype.
    """
    return {
        "rule": snakemake.rule,
        "wildcards": dict(snakemake.wildcards.items()),
        "digest": snakemake.params.digest,
        "settings": snakemake.params.get("settings"),
        "inputs": {str(path): file_sha256(Path(path)) for path in snakemake.input if Path(path).is_file()},
        "git": git_state(),
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "python": sys.version.split()[0],
        "host_class": f"{platform.system()}-{platform.machine()}",
        **extra,
    }


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
