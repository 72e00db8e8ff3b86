"""A run as a Provenance Run Crate: an RO-Crate that says which action made which file from which.

Profile: Workflow Run RO-Crate, https://w3id.org/ro/wfrun/ (process, workflow and provenance run crates, version 0.5).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from vlmdx.audit.audit import read_records

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
LICENSE = "https://spdx.org/licenses/Apache-2.0"


def write_crate(folder: Path, root: Path, name: str = "vlmdx run") -> int:
    """Write ``folder`` with the tables, figures, config and records of the run in the working directory.

    Large artifacts (images, score shards) are described with hash and size but not copied.

    Args:
        folder: must not exist.
        root: folder of the Snakefile.
        name: name of the crate.

    Returns:
        Number of actions.

    Raises:
        FileExistsError: ``folder`` exists.
        FileNotFoundError: the run has no records.
    """
    if folder.exists():
        raise FileExistsError(f"{folder}: exists already; name a new folder")
    records, _ = read_records()
    if not records:
        raise FileNotFoundError("results/provenance: no records; run the workflow in this folder first")
    crate = ROCrate(version="1.1")  # the version that the profile builds on
    crate.metadata.extra_contexts.append(TERMS)
    crate.name, crate.description = name, "Tables, figures and provenance of a vlmdx run."
    crate.license = crate.add(ContextEntity(crate, LICENSE, {"@type": "CreativeWork", "name": "Apache License 2.0"}))
    crate.root_dataset["conformsTo"] = [
        crate.add(ContextEntity(crate, url, {"@type": "CreativeWork", "name": title, "version": url.rsplit("/", 1)[1]}))
        for url, title in PROFILES.items()
    ]
    main = crate.add_workflow(root / "Snakefile", "Snakefile", main=True, lang="snakemake")
    main["name"] = "vlmdx"
    config = crate.add_file("results/config.yaml", "results/config.yaml", properties={"name": "resolved config"})
    files = _Files(crate, records)
    tables = [files.of(path) for record in records for path in record["outputs"] if path.endswith((".csv", ".png"))]
    run = {
        "@type": "CreateAction",
        "name": f"run of {main['name']}",
        "startTime": records[0]["began"],
        "endTime": records[-1]["began"],
    }
    action = crate.add(ContextEntity(crate, "#run", run))
    action["instrument"], action["object"], action["result"] = main, config, tables
    actions = [_action(crate, root, record, files) for record in records]
    crate.root_dataset["mentions"] = [action, *actions]
    main["hasPart"] = list({made["instrument"].id: made["instrument"] for made in actions}.values())
    crate.write(folder)
    return len(records)


class _Files:
    """Data entities by path, made once; what is small and final is copied into the crate."""

    def __init__(self, crate: ROCrate, records: list[dict[str, Any]]) -> None:
        self._crate = crate
        self._known: dict[str, Any] = {}
        self._made = {path: made for record in records for path, made in record["outputs"].items()}

    def of(self, path: str) -> Any:
        if path not in self._known:
            made = self._made.get(path, {})
            properties = {
                "name": path,
                **({"contentSize": str(made["size"]), "sha256": made["sha256"]} if made else {}),
            }
            if path.endswith((".csv", ".png", ".svg")) and Path(path).is_file():
                self._known[path] = self._crate.add_file(path, path, properties=properties)
            else:
                entity = ContextEntity(self._crate, f"#{path}", {"@type": "CreativeWork", **properties})
                self._known[path] = self._crate.add(entity)
        return self._known[path]


def _action(crate: ROCrate, root: Path, record: Mapping[str, Any], files: _Files) -> Any:
    job = "/".join([record["rule"], *record["wildcards"].values()])
    script = root / "workflow" / "scripts" / f"{record['rule']}.py"
    tool = crate.dereference(f"#tool/{record['rule']}") or crate.add(
        ContextEntity(
            crate,
            f"#tool/{record['rule']}",
            {"@type": "SoftwareApplication", "name": record["rule"], "url": script.relative_to(root).as_posix()},
        )
    )
    properties = {
        "@type": "CreateAction",
        "name": job,
        "startTime": record["began"],
        "description": f"digest {record['digest']}, commit {record['git']['commit']}, {record['seconds']} s",
    }
    action = crate.add(ContextEntity(crate, f"#job/{job}", properties))
    action["instrument"] = tool
    action["object"] = [files.of(path) for path in record["inputs"]]
    action["result"] = [files.of(path) for path in record["outputs"]]
    return action
