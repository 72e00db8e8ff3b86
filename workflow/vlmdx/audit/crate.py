"""A run as a Provenance Run Crate: an RO-Crate that says which action made which file from which.

Profile: Workflow Run RO-Crate, https://w3id.org/ro/wfrun/ (process, workflow and provenance run crates, version 0.5).
"""

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from vlmdx.audit.audit import read_records
from vlmdx.audit.ledger import ABOUT
from vlmdx.audit.run import LEDGER_FILE, write_ledger
from vlmdx.config import paths

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
# The one term beyond RO-Crate's own that is used, so that no second context must be fetched to read the crate.
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
LICENSE = "https://spdx.org/licenses/Apache-2.0"
COPIED = {".csv": "text/csv", ".png": "image/png", ".svg": "image/svg+xml"}


def write_crate(folder: Path, root: Path, name: str = "vlmdx run") -> int:
    """Write ``folder`` with the tables, figures, resolved config and ledger of the run in the working directory.

    Large artifacts (images, score shards) are described with hash and size but not copied.

    Args:
        folder: must not exist.
        root: folder of the Snakefile.
        name: name of the crate.

    Returns:
        Number of jobs described.

    Raises:
        FileExistsError: ``folder`` exists.
        FileNotFoundError: the run has no records.
    """
    if folder.exists():
        raise FileExistsError(f"{folder}: exists already; name a new folder")
    records = [record for record in read_records()[0] if record["rule"] not in ABOUT]
    if not records:
        raise FileNotFoundError("results/provenance: no records; run the workflow in this folder first")
    crate = ROCrate(version="1.1")  # the version that the profile builds on
    crate.metadata.extra_terms.update(TERMS)
    crate.name, crate.description = name, "Tables, figures and provenance of a vlmdx run."
    crate.license = crate.add(ContextEntity(crate, LICENSE, {"@type": "CreativeWork", "name": "Apache License 2.0"}))
    crate.root_dataset["conformsTo"] = [
        crate.add(ContextEntity(crate, url, {"@type": "CreativeWork", "name": title, "version": url.rsplit("/", 1)[1]}))
        for url, title in PROFILES.items()
    ]
    with tempfile.TemporaryDirectory() as temporary:
        ledger = Path(temporary) / "provenance.parquet"
        write_ledger(str(ledger))
        crate.add_file(
            ledger,
            LEDGER_FILE,
            properties={"name": "ledger of all jobs", "encodingFormat": "application/vnd.apache.parquet"},
        )
        _add_run(crate, root, records)
        crate.write(folder)
    return len(records)


def _add_run(crate: ROCrate, root: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The workflow, one tool per rule, one action per job, and the action of the whole run."""
    main = crate.add_workflow(root / "Snakefile", "Snakefile", main=True, lang="snakemake")
    main["name"], main["version"] = "vlmdx", records[-1]["git"]["commit"] or metadata.version("vlmdx")
    about = {"name": "resolved config", "encodingFormat": "application/yaml"}
    config = crate.add_file(paths.RESOLVED_CONFIG, paths.RESOLVED_CONFIG, properties=about)
    files, tools = _Files(crate, records), _Tools(crate)
    actions = [_action(crate, record, files, tools) for record in records]
    run = {
        "@type": "CreateAction",
        "name": "run of vlmdx",
        "description": f"{len(records)} jobs of {len(tools.known)} rules",
        "startTime": records[0]["began"],
        "endTime": max(_ended(record) for record in records),
    }
    action = crate.add(ContextEntity(crate, "#run", run))
    action["instrument"], action["object"], action["result"] = main, config, list(files.copied.values())
    crate.root_dataset["mentions"] = [action, *actions]
    main["hasPart"] = list(tools.known.values())


class _Tools:
    """Applications by rule and code, made once: two versions of a script in one run are two tools."""

    def __init__(self, crate: ROCrate) -> None:
        self._crate = crate
        self.known: dict[str, Any] = {}

    def of(self, record: Mapping[str, Any]) -> Any:
        code = record["code"] or record["digest"]
        name = f"#tool/{record['rule']}/{code[:12]}"
        if name not in self.known:
            about = {
                "@type": "SoftwareApplication",
                "name": record["rule"],
                "description": f"workflow/scripts/{record['rule']}.py and the package code that it reaches",
                "softwareVersion": code,
            }
            self.known[name] = self._crate.add(ContextEntity(self._crate, name, about))
        return self.known[name]


class _Files:
    """Data entities by path, made once; what is small and final is copied into the crate."""

    def __init__(self, crate: ROCrate, records: Sequence[Mapping[str, Any]]) -> None:
        self._crate = crate
        self._known: dict[str, Any] = {}
        self._made = {path: made for record in records for path, made in record["outputs"].items()}
        self.copied: dict[str, Any] = {}

    def all(self, names: Sequence[str]) -> Any:
        """A list of entities, or the one: a list of one is not what RO-Crate recommends."""
        entities = [self._of(path) for path in names]
        return entities[0] if len(entities) == 1 else entities

    def _of(self, path: str) -> Any:
        if path not in self._known:
            made, suffix = self._made.get(path, {}), Path(path).suffix
            about = {"name": path} | ({"contentSize": str(made["size"]), "sha256": made["sha256"]} if made else {})
            if made and suffix in COPIED and Path(path).is_file():
                about["encodingFormat"] = COPIED[suffix]
                self._known[path] = self.copied[path] = self._crate.add_file(path, path, properties=about)
            else:
                entity = ContextEntity(self._crate, f"#{path}", {"@type": "CreativeWork", **about})
                self._known[path] = self._crate.add(entity)
        return self._known[path]


def _action(crate: ROCrate, record: Mapping[str, Any], files: _Files, tools: _Tools) -> Any:
    job = "/".join([record["rule"], *record["wildcards"].values()])
    model = f", model {record['model']['source']} at {record['model']['revision']}" if record["model"] else ""
    properties = {
        "@type": "CreateAction",
        "name": job,
        "startTime": record["began"],
        "endTime": _ended(record),
        "description": f"digest {record['digest']}, commit {record['git']['commit']}{model}",
    }
    action = crate.add(ContextEntity(crate, f"#job/{job}", properties))
    action["instrument"] = tools.of(record)
    if record["inputs"]:
        action["object"] = files.all(list(record["inputs"]))
    action["result"] = files.all(list(record["outputs"]))
    return action


def _ended(record: Mapping[str, Any]) -> str:
    ended = datetime.fromisoformat(record["began"]) + timedelta(seconds=record["seconds"])
    return ended.isoformat(timespec="milliseconds")
