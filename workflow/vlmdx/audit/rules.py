"""Which rule makes a path today, and with which digest: asked of the Snakefile itself, not of a copy of its rules."""

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.iocontainers import Wildcards
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings, WorkflowSettings
from snakemake_interface_executor_plugins.settings import ExecMode

from vlmdx.config.job import Job
from vlmdx.config.jobs import Jobs
from vlmdx.provenance.code import PACKAGE


class WorkflowFault(ValueError):
    """The Snakefile cannot be read with this config."""


@dataclass(frozen=True)
class Producer:
    """The job that makes a path under the present code and config."""

    rule: str
    wildcards: Mapping[str, str]
    digest: str


class Rules:
    """The rules of a Snakefile under one config.

    Args:
        root: folder of the Snakefile.
        configfiles: as for Snakemake; none takes the embedded default.

    Raises:
        WorkflowFault: with Snakemake's own message.
    """

    def __init__(self, root: Path, *configfiles: Path) -> None:
        if PACKAGE.parent != (root / "workflow").resolve():
            raise WorkflowFault(
                f"this vlmdx is {PACKAGE}, but the Snakefile is {root / 'Snakefile'}: their code may differ; "
                f"set PYTHONPATH={root / 'workflow'}"
            )
        try:
            with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
                # As a subprocess: the main process would take note of itself as the owner of this folder.
                workflow_api = api.workflow(
                    resource_settings=ResourceSettings(),
                    config_settings=ConfigSettings(configfiles=[file.resolve() for file in configfiles]),
                    workflow_settings=WorkflowSettings(exec_mode=ExecMode.SUBPROCESS),
                    snakefile=root / "Snakefile",
                )
                # Snakemake has no public way to ask a workflow for its rules (9.27); the version is pinned.
                workflow = workflow_api._workflow
        except Exception as error:
            raise WorkflowFault(str(error) or type(error).__name__) from error
        self._rules, self._order = list(workflow.rules), workflow._ruleorder
        self.jobs: Jobs = workflow.globals["JOBS"]
        self._digests: dict[tuple[str, tuple[str, ...]], str] = {}

    def producer(self, path: str) -> Producer | None:
        """The job that makes ``path`` or a folder around it; None if no rule does.

        A shard of a family that the config no longer has counts as made by nobody, although Snakemake's wildcards
        would still allow it: nothing can ask for it.
        """
        found = None
        for place in (path, *map(str, Path(path).parents)):
            if matching := [rule for rule in self._rules if rule.is_producer(place)]:
                found = next(r for r in matching if all(self._order.compare(r, o) >= 0 for o in matching if o is not r))
                break
        if found is None:
            return None
        wildcards = dict(found.get_wildcards(place))
        if "family" in wildcards and wildcards["family"] not in self.jobs.shards():
            return None
        digest = self._digest(found, wildcards)
        return Producer(found.name, wildcards, digest) if digest is not None else None

    @functools.cached_property
    def targets(self) -> dict[str, list[str]]:
        """Files by the rule that only asks for them (`all`, `mechanism`), for those that this config can plan."""
        found = {}
        for rule in self._rules:
            if rule.norun:
                try:
                    files, *_ = rule.expand_input(Wildcards(fromdict={}))
                except Exception:  # an input function may raise anything; Snakemake tells it when asked for the target
                    continue
                found[rule.name] = [str(file) for file in files]
        return found

    def job(self, digest: str) -> Job | None:
        """The present job of this digest, as far as it was asked for yet."""
        return self.jobs.known.get(digest)

    def _digest(self, rule: Any, wildcards: Mapping[str, str]) -> str | None:
        key = (rule.name, tuple(wildcards.values()))
        if key not in self._digests:
            digest = rule.params.get("digest")
            try:
                self._digests[key] = digest(SimpleNamespace(**wildcards)) if callable(digest) else digest
            except (KeyError, ValueError) as error:
                print(f"{rule.name} {dict(wildcards)}: no job under this config ({error})", file=sys.stderr)
                return None
        return self._digests[key]
