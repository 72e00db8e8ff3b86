"""Time of `vlmdx audit` over many artifacts, against `sha256sum` over the same files.

    python benchmarks/audit.py [ARTIFACTS]

Makes a finished run in a temporary folder: a config of as many models as give the number of artifacts (default 10,000),
files of 20 KB with their records, digests as the Snakefile gives them today. Prints seconds of wall and CPU time.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import yaml
from snakemake.iocontainers import Params
from vlmdx.audit.rules import Producer, Rules
from vlmdx.config import paths
from vlmdx.provenance.parts import keep_parts
from vlmdx.provenance.record import write_record
from vlmdx.schema.names import CLEAN, FAMILIES

ROOT = Path(__file__).parents[1]
SIZE = 20_000
TABLES = ("cells", "trajectories", "summary", "position", "set_aside")
PER_MODEL = len(FAMILIES) + 1 + len(TABLES)


class Job:
    """Stands in for what Snakemake gives a script."""

    def __init__(self, producer: Producer, settings: dict, output: list[str]) -> None:
        self.rule, self.wildcards, self.output = producer.rule, producer.wildcards, output
        self.params = Params(fromdict={"digest": producer.digest, "settings": settings})
        self.input: list[str] = []
        self.threads = 1


def make_run(artifacts: int) -> int:
    """Make the run in the working directory; returns the number of files."""
    source = str(ROOT / "resources/models/qwen-demo")
    models = {f"model-{number}": {"source": source} for number in range(-(-artifacts // PER_MODEL) + 1)}
    config = yaml.safe_load((ROOT / "tests/workflow/small.yaml").read_text())
    config |= {"models": models, "voters": ["model-0"], "corruptions": {}}
    config["selection"]["image_encoder"] = source
    config["scoring"] = {f"{name}_prompt": str(ROOT / f"resources/prompts/{name}.txt") for name in ("letter", "text")}
    Path("many.yaml").write_text(yaml.safe_dump(config))
    rules = Rules(ROOT, Path("many.yaml"))
    wanted = [
        path
        for model in list(models)[1:]
        for path in [
            *(paths.scores(model, "bench", family) for family in (CLEAN, *FAMILIES)),
            *(paths.reliability(model, table) for table in TABLES),
        ]
    ][:artifacts]
    jobs: dict[str, tuple[Producer, list[str]]] = {}
    for path in wanted:
        producer = rules.producer(path)
        assert producer is not None, path
        jobs.setdefault(producer.digest + str(producer.wildcards), (producer, []))[1].append(path)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(path.encode().ljust(SIZE, b"\0"))
    keep_parts({digest: job.parts for digest, job in rules.jobs.known.items()})
    for producer, outputs in jobs.values():
        write_record(Job(producer, dict(rules.jobs.known[producer.digest].settings), outputs), datetime.now(UTC), 1.0)
    return len(wanted)


def timed(label: str, words: Sequence[str]) -> None:
    """Run a command, print what it took, and stop if it fails."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    wall, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    if status:
        raise SystemExit(f"{label} failed:\n{said}")
    told = said.strip().splitlines()[-1] if said.strip() else ""
    print(f"{label:<30}{wall:8.1f}{cpu:8.1f}   {told}", flush=True)


def main() -> None:
    """Print the table."""
    artifacts = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    audit = [sys.executable, "-c", "from vlmdx.cli import app; app()", "audit", "--configfile", "many.yaml"]
    with tempfile.TemporaryDirectory() as temporary, chdir(temporary):
        files = make_run(artifacts)
        print(f"{files} artifacts of {SIZE} bytes{'wall s':>8}{'CPU s':>8}")
        timed("sha256sum", ["bash", "-c", "find results -name '*.parquet' -print0 | xargs -0 sha256sum"])
        timed("vlmdx audit, the first", audit)
        timed("vlmdx audit, the second", audit)
        timed("vlmdx audit --rehash", [*audit, "--rehash"])


if __name__ == "__main__":
    main()
