"""From findings to the one command that makes them good, and what Snakemake would do with it."""

import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlmdx.audit.audit import MISSING, ORPHAN, TAMPERED, UNKNOWN, Finding
from vlmdx.audit.rules import Rules


@dataclass(frozen=True)
class Remedy:
    """What to ask Snakemake for.

    Attributes:
        targets: rules that name targets (`all`, `mechanism`), and files beside them.
        forced: files whose jobs must run although nothing about the jobs has changed.
        left: files that no rule makes: nobody's but the user's to delete.
    """

    targets: list[str]
    forced: list[str]
    left: list[str]

    def words(self, configfiles: Sequence[Path], snakefile: Path | None = None) -> list[str]:
        """Words of the command line after `snakemake`."""
        chosen = ["--configfile", *map(str, configfiles)] if configfiles else []
        place = ["--snakefile", str(snakefile)] if snakefile else []
        return [*place, *chosen, *(["--forcerun", *self.forced] if self.forced else []), "--", *self.targets]


def remedy(rules: Rules, findings: Iterable[Finding], records: Sequence[Mapping[str, Any]]) -> Remedy:
    """What would make everything true that was made before, and nothing else.

    What is stale or missing Snakemake sees by itself; a changed file, or one without a record, it takes for good, so
    those jobs are forced. A missing file that nothing needs any more is not made again: Snakemake would not either.
    """
    findings = list(findings)
    forced = [f.path for f in findings if f.status in (TAMPERED, UNKNOWN) and f.present_digest]
    left = [f.path for f in findings if f.status == ORPHAN or (f.status == UNKNOWN and not f.present_digest)]
    live = [record for record in records if any(rules.producer(path) for path in record["outputs"])]
    made = {path for record in live for path in record["outputs"]} | set(forced)
    used = {path for record in live for path in record["inputs"]}
    targets, covered = [], set()
    for name, files in rules.targets.items():
        if made.issuperset(files):
            targets.append(name)
            covered |= set(files)
    for record in live:  # made by name, and the end of its line
        if not used.intersection(record["outputs"]) and not covered.intersection(record["outputs"]):
            targets.append(next(iter(record["outputs"])))
    # The other outputs of a job count for Snakemake only if they are asked for.
    lost = [f.path for f in findings if f.status == MISSING and f.path not in used and f.path not in covered]
    targets += [path for path in lost if path not in targets]
    return Remedy(targets, forced, left)


def shown(words: Iterable[str]) -> str:
    """The command as a user types it."""
    return shlex.join(["snakemake", *words])


def dry_run(words: Sequence[str]) -> tuple[dict[str, int], str]:
    """Number of jobs by rule that Snakemake itself lists for a command, and all that it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    jobs: dict[str, int] = {}
    for line in done.stdout.split("Reasons:")[0].splitlines():
        match line.split():
            case [rule, number] if number.isdigit() and rule != "total":
                jobs[rule] = int(number)
    if done.returncode:
        raise RuntimeError(f"{shown(words)} cannot be planned:\n{done.stdout}")
    return jobs, done.stdout
