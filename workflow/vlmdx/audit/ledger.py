"""The ledger: every record of a run in one Parquet table, one row per artifact."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from vlmdx.schema.tables import Table

ABOUT = ("provenance", "catalog")  # rules of the ledger itself and of what is made from it

LEDGER = Table(
    "ledger",
    pa.schema(
        [
            pa.field("path", pa.string(), nullable=False),
            pa.field("sha256", pa.string(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("rule", pa.string(), nullable=False),
            pa.field("wildcards", pa.string(), nullable=False),  # JSON
            pa.field("digest", pa.string(), nullable=False),
            pa.field("code", pa.string()),  # sha256 over the code that the script reaches; NULL if it was not kept
            pa.field("settings", pa.string(), nullable=False),  # JSON
            pa.field("inputs", pa.string(), nullable=False),  # JSON: path -> sha256
            pa.field("versions", pa.string(), nullable=False),  # JSON: library -> version
            pa.field("python", pa.string(), nullable=False),
            pa.field("git_commit", pa.string()),
            pa.field("git_dirty", pa.bool_()),
            pa.field("model", pa.string()),
            pa.field("revision", pa.string()),
            pa.field("processor", pa.string()),  # sha256 over the processor's files
            pa.field("device", pa.string()),
            pa.field("dtype", pa.string()),
            pa.field("seed", pa.int64()),
            pa.field("began", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("seconds", pa.float64(), nullable=False),
            pa.field("threads", pa.int32(), nullable=False),
            pa.field("host", pa.string(), nullable=False),
            pa.field("host_class", pa.string(), nullable=False),
            pa.field("slurm_job", pa.string()),
            pa.field("slurm_node", pa.string()),
        ]
    ),
    ("path",),
)


def ledger(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of LEDGER; of two records that claim one path the later counts. The ledger does not hold itself.

    Args:
        records: the oldest first, as :func:`vlmdx.audit.audit.read_records` gives them.
    """
    told = [record for record in records if record["rule"] not in ABOUT]
    rows = {path: _row(path, made, record) for record in told for path, made in record["outputs"].items()}
    columns = {name: [row[name] for _, row in sorted(rows.items())] for name in LEDGER.schema.names}
    columns["began"] = pa.array(columns["began"], pa.string()).cast(pa.timestamp("ms", tz="UTC"))
    return pa.table(columns, schema=LEDGER.schema)


def _row(path: str, made: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    model, slurm = record["model"] or {}, record["slurm"] or {}
    as_json = {key: json.dumps(record[key], sort_keys=True) for key in ("wildcards", "settings", "inputs", "versions")}
    plain = ("rule", "digest", "code", "python", "device", "dtype", "seed", "began", "seconds", "threads", "host")
    return {
        "path": path,
        **made,
        **as_json,
        **{key: record[key] for key in plain},
        "host_class": record["host_class"],
        "slurm_job": slurm.get("job"),
        "slurm_node": slurm.get("node"),
        "git_commit": record["git"]["commit"],
        "git_dirty": record["git"]["dirty"],
        "model": model.get("source"),
        "revision": model.get("revision"),
        "processor": model.get("processor"),
    }
