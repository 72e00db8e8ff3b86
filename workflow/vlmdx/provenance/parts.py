"""The parts that each digest was taken over, kept once per digest in `results/provenance/digests/`.

The main process, which computed them anyhow, writes them before the first job starts; jobs and audits read them.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vlmdx.provenance.digest import digest_of
from vlmdx.schema.io import atomic

FOLDER = Path("results/provenance")


def keep_parts(parts: Mapping[str, Mapping[str, Any]], folder: Path = FOLDER) -> None:
    """Write the parts of digests, each under its digest; what is there already, and whole, is left."""
    for digest, content in parts.items():
        if read_parts(digest, folder) is None:
            with atomic(_path(digest, folder)) as temporary:
                temporary.write_text(_text(content), encoding="utf-8")


def read_parts(digest: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The parts behind a digest; NULL if they were not kept or are not what the digest was taken over."""
    try:
        found = _path(digest, folder).read_text(encoding="utf-8")
        parts = json.loads(found)
    except (OSError, ValueError):
        return None
    # Byte for byte what was written: JSON that says the same with other white space was changed by somebody.
    return parts if isinstance(parts, dict) and digest_of(parts) == digest and _text(parts) == found else None


def damaged_parts(folder: Path = FOLDER) -> Iterator[Path]:
    """Files of parts that are not what their name says."""
    for path in sorted((folder / "digests").glob("[!.]*.json")):
        if read_parts(path.stem, folder) is None:
            yield path


def _path(digest: str, folder: Path) -> Path:
    return folder / "digests" / f"{digest}.json"


def _text(parts: Mapping[str, Any]) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
