"""A job's record: one small JSON file per job, with the hash and size of everything it wrote.

A footer fits only into Parquet and safetensors and cannot hold the file's own hash. So every job, whatever it writes,
leaves `results/provenance/{rule}/{wildcards}.json` when its outputs stand. The parts of its digest are kept once per
digest in `results/provenance/digests/`, written by the main process, which computed them anyhow.
"""

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vlmdx.provenance.digest import digest_of
from vlmdx.provenance.footer import file_sha256, footer
from vlmdx.schema.io import atomic

FOLDER = Path("results/provenance")
SEAL = "seal"
SLURM = {"job": "SLURM_JOB_ID", "node": "SLURMD_NODENAME", "gpus": "CUDA_VISIBLE_DEVICES"}


class DamagedRecord(ValueError):
    """A record that cannot be read, or whose seal does not fit its content."""


def record_path(rule: str, wildcards: Mapping[str, str]) -> Path:
    """Where a job's record stands, from the working directory: `pool.json`, `score/qwen-demo/bench/fog.json`."""
    name = "/".join([rule, *wildcards.values()])
    return FOLDER / f"{name}.json"


def write_record(snakemake: Any, began: datetime, seconds: float) -> None:
    """Record a job whose outputs stand.

    Args:
        snakemake: the object Snakemake gives a script.
        began: when the job's script began.
        seconds: wall time of the script.
    """
    outputs = {}
    for path in _files(snakemake.output):
        outputs[path.as_posix()] = {"sha256": file_sha256(path), "size": path.stat().st_size}
    record = {
        **footer(snakemake),
        "outputs": outputs,
        "began": began.astimezone(UTC).isoformat(timespec="milliseconds"),
        "seconds": round(seconds, 3),
        "host": socket.gethostname(),
        "slurm": {key: os.environ.get(name) for key, name in SLURM.items()} if "SLURM_JOB_ID" in os.environ else None,
        "threads": snakemake.threads,
    }
    with atomic(record_path(snakemake.rule, record["wildcards"])) as temporary:
        temporary.write_text(json.dumps({**record, SEAL: _seal(record)}, indent=1, sort_keys=True), encoding="utf-8")


def forget_record(snakemake: Any) -> None:
    """Take away what an earlier run of this job left: from here on it says nothing about what stands there."""
    record_path(snakemake.rule, dict(snakemake.wildcards.items())).unlink(missing_ok=True)


def read_record(path: Path) -> dict[str, Any]:
    """One record.

    Raises:
        DamagedRecord: not JSON, or changed after it was written.
    """
    try:
        record = json.loads(path.read_bytes())
        seal = record.pop(SEAL)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedRecord(f"{path}: not a record ({error}); run the job again") from error
    if seal != _seal(record):
        raise DamagedRecord(f"{path}: changed after it was written; run the job again")
    return record


def record_files(folder: Path = FOLDER) -> list[Path]:
    """All job records below ``folder``, without the parts of digests and without temporary files."""
    digests = folder / "digests"
    return sorted(
        path for path in folder.rglob("*.json") if not path.name.startswith(".") and digests not in path.parents
    )


def keep_parts(parts: Mapping[str, Mapping[str, Any]], folder: Path = FOLDER) -> None:
    """Write the parts of digests, each under its digest; what is there already is left."""
    for digest, content in parts.items():
        path = folder / "digests" / f"{digest}.json"
        if not path.is_file():
            with atomic(path) as temporary:
                temporary.write_text(json.dumps(content, sort_keys=True, default=str), encoding="utf-8")


def read_parts(digest: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The parts behind a digest; NULL if they were not kept or are not what the digest was taken over."""
    try:
        parts = json.loads((folder / "digests" / f"{digest}.json").read_bytes())
    except (OSError, ValueError):
        return None
    return parts if isinstance(parts, dict) and digest_of(parts) == digest else None


def _files(outputs: Any) -> Iterator[Path]:
    """The outputs; of a folder, its files."""
    for output in map(Path, outputs):
        yield from sorted(path for path in output.rglob("*") if path.is_file()) if output.is_dir() else [output]


def _seal(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
