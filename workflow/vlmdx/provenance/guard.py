"""Refuse to start while cluster jobs of an earlier, killed run still work in this folder.

After a SIGKILL Snakemake's jobs go on. A second run would submit the same jobs again, two processes would do one job's
work, and what the orphans finish would be overwritten. The queue knows: each job tells its working directory.
"""

import shutil
import subprocess
from pathlib import Path

TIMEOUT = 30  # seconds; a client command waits about ten when the controller is down


def orphans(folder: Path) -> list[str]:
    """Ids of this user's SLURM jobs whose working directory is ``folder``; none where SLURM is absent or silent."""
    if shutil.which("squeue") is None:
        return []
    try:
        asked = subprocess.run(
            ["squeue", "--me", "--noheader", "--format=%i %Z"], capture_output=True, text=True, timeout=TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    jobs = [line.partition(" ")[::2] for line in asked.stdout.splitlines()] if asked.returncode == 0 else []
    return sorted({job for job, place in jobs if place and Path(place).resolve() == folder.resolve()})


def refuse_beside_orphans(folder: Path) -> None:
    """Stop with one message if jobs of an earlier run are still at work.

    Raises:
        RuntimeError: naming the jobs, and the two ways on.
    """
    if jobs := orphans(folder):
        raise RuntimeError(
            f"SLURM jobs of an earlier run still work in this folder: {' '.join(jobs)}\n"
            f"wait until they end, which loses nothing, or stop them: scancel {' '.join(jobs)}"
        )
