"""Let the same command go on after a killed run: take away a lock whose owner is dead.

Snakemake's lock outlives a SIGKILL, and its next start refuses to work until `--unlock`. The Snakefile therefore notes
who runs in a folder, and clears the lock only where the noted process is known to be gone: same host, no such process.
A run on another host is never judged; there Snakemake's own message and `snakemake --unlock` apply.
"""

import json
import shutil
import socket
from pathlib import Path

import psutil

from vlmdx.schema.io import atomic


def clear_stale_lock(folder: Path) -> bool:
    """Clear Snakemake's lock in ``folder`` if its owner is dead, and note the present process as owner.

    Returns:
        Whether a stale lock was cleared.
    """
    note = folder / ".snakemake" / "vlmdx-run.json"
    locks = folder / ".snakemake" / "locks"
    owner = json.loads(note.read_text()) if note.is_file() else None
    me = {"host": socket.gethostname(), "pid": psutil.Process().pid, "started": psutil.Process().create_time()}
    if owner and (owner["host"] != me["host"] or _alive(owner)):
        return False
    stale = owner is not None and locks.is_dir() and any(locks.iterdir())
    if stale:
        shutil.rmtree(locks)
    with atomic(note) as temporary:
        temporary.write_text(json.dumps(me))
    return stale


def _alive(owner: dict) -> bool:
    """A process counts as the noted one if both its id and its start time agree: ids are used again."""
    try:
        return abs(psutil.Process(owner["pid"]).create_time() - owner["started"]) < 1
    except psutil.NoSuchProcess:
        return False
