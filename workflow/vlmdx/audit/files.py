"""The files under results/ and their hashes, each read again only when the file system says that it changed."""

import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from vlmdx.provenance.footer import file_sha256
from vlmdx.schema.io import atomic

RESULTS = Path("results")
# About the run: records and resolved config, which carry their own seals, and Snakemake's measurements.
BOOKKEEPING = ("benchmarks", "provenance", "config.yaml")
FOLDER_TIME = ".snakemake_timestamp"  # Snakemake's own, in a folder that is an output
CACHE = RESULTS / "provenance" / "hashes.cache"


def artifacts(results: Path = RESULTS) -> Iterator[Path]:
    """Every file below ``results`` that a job may have made; hidden ones too, which a killed job leaves behind."""
    for folder, folders, names in os.walk(results):
        here = Path(folder)
        if here == results:
            folders[:] = [name for name in folders if name not in BOOKKEEPING]
            names = [name for name in names if name not in BOOKKEEPING]
        folders.sort()
        yield from (here / name for name in sorted(names) if name != FOLDER_TIME)


def hidden(path: Path) -> bool:
    """A temporary file, or the finished cells of a shard that is not: read by nobody under this name."""
    return any(part.startswith(".") for part in path.parts)


def hashes(files: Iterable[Path], cache: Path = CACHE, workers: int | None = None) -> dict[Path, str]:
    """SHA-256 of each file.

    A hash is taken over from the last audit where size, time of change, time of inode change and inode agree; the
    last but one cannot be set by `touch`, so an edit that hides behind an old time is seen.

    Args:
        files: files that exist.
        cache: where hashes are kept; damaged or absent, all files are read.
        workers: threads that read; hashing leaves the interpreter free.
    """
    known = _read(cache)
    stamps = {path: _stamp(path) for path in files}
    found = {path: known[str(path)][1] for path, stamp in stamps.items() if known.get(str(path), [None])[0] == stamp}
    unread = [path for path in stamps if path not in found]
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        read = tqdm(pool.map(file_sha256, unread), total=len(unread), desc="audit: hashing", disable=len(unread) < 100)
        found.update(zip(unread, read, strict=True))
    if unread:
        with atomic(cache) as temporary:
            temporary.write_text(json.dumps({str(path): [stamps[path], digest] for path, digest in found.items()}))
    return found


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _read(cache: Path) -> dict[str, tuple[list[int], str]]:
    try:
        known = json.loads(cache.read_bytes())
        return known if isinstance(known, dict) else {}
    except (OSError, ValueError):
        return {}
