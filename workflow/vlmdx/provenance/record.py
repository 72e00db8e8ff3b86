"""A job's record: one small JSON file per job, with the hash and size of everything it wrote.

A footer fits only into Parquet and safetensors and cannot hold the file's own hash. So every job, whatever it writes,
leaves `results/provenance/{rule}/{wildcards}.json` when its outputs stand.
"""

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vlmdx.provenance.footer import file_sha256, footer
from vlmdx.provenance.parts import FOLDER
from vlmdx.schema.io import atomic

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
        temporary.write_text(_text(record), encoding="utf-8")


def forget_record(snakemake: Any) -> None:
    """Take away what an earlier run of this job left: from here on it says nothing about what stands there."""
    record_path(snakemake.rule, dict(snakemake.wildcards.items())).unlink(missing_ok=True)


def read_record(path: Path) -> dict[str, Any]:
    """One record.

    Raises:
        DamagedRecord: not JSON, or changed after it was written.
    """
    try:
        found = path.read_bytes()
        record = json.loads(found)
        del record[SEAL]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedRecord(f"{path}: not a record ({error}); run the job again") from error
    if found != _text(record).encode():  # seal and white space
        raise DamagedRecord(f"{path}: changed after it was written; run the job again")
    return record


def record_files(folder: Path = FOLDER) -> list[Path]:
    """All job records below ``folder``, without the parts of digests and without temporary files."""
    digests = folder / "digests"
    return sorted(
        path for path in folder.rglob("*.json") if not path.name.startswith(".") and digests not in path.parents
    )


def _files(outputs: Any) -> Iterator[Path]:
    """The outputs; of a folder, its files."""
    for output in map(Path, outputs):
        yield from sorted(path for path in output.rglob("*") if path.is_file()) if output.is_dir() else [output]


def _text(record: Mapping[str, Any]) -> str:
    """The record as it stands in its file, under the hash of its content."""
    seal = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return json.dumps({**record, SEAL: seal}, indent=1, sort_keys=True)
