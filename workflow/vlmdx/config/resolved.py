"""The config of the last run, as results/config.yaml: with all defaults, sealed, and naming the file it came from."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from vlmdx.config import paths
from vlmdx.schema.io import atomic

SEAL, SOURCE = "# sha256 of the lines below: ", "# from: "


def write_resolved(
    config: Mapping[str, Any], configfiles: Iterable[str | Path], path: str = paths.RESOLVED_CONFIG
) -> None:
    """Write the resolved config.

    Args:
        config: the validated config with all its defaults.
        configfiles: files that were given on Snakemake's command line; none for the embedded default. The resolved
            config itself, with which a table is made again, stands for the files that it came from.
        path: file to write.
    """
    given = [Path(file).resolve() for file in configfiles]
    here = Path.cwd()
    if given == [Path(path).resolve()]:
        given = [file.absolute() for file in _sources(path)]
    sources = [file.relative_to(here) if file.is_relative_to(here) else file for file in given]
    body = "".join(f"{SOURCE}{file}\n" for file in sources) + yaml.safe_dump(dict(config), sort_keys=False)
    with atomic(path) as temporary:
        temporary.write_text(f"{SEAL}{_sha256(body)}\n{body}", encoding="utf-8")


def resolved_is_whole(path: str = paths.RESOLVED_CONFIG) -> bool:
    """Whether the file says what it said when a run wrote it."""
    try:
        first, _, body = Path(path).read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return first == f"{SEAL}{_sha256(body)}"


def last_configfiles(path: str = paths.RESOLVED_CONFIG) -> list[Path]:
    """Config files of the last run; the resolved config itself where they are gone; none for the embedded default."""
    sources = _sources(path)
    return sources if all(file.is_file() for file in sources) else [Path(path)]


def _sources(path: str) -> list[Path]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [Path(line.removeprefix(SOURCE)) for line in lines if line.startswith(SOURCE)]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
