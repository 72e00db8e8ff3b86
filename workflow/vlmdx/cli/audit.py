"""`vlmdx audit`: which artifacts are still true?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from vlmdx.cli.project import ConfigFile, fail, root
from vlmdx.cli.wide import wide_console

COLOURS = {"verified": "green", "stale": "yellow", "orphan": "yellow", "tampered": "red", "missing": "red"}


def audit(
    configfile: ConfigFile = None,
    parquet: Annotated[Path | None, typer.Option(help="also write the findings as Parquet")] = None,
    rehash: Annotated[bool, typer.Option(help="read every file again, whatever the last audit remembers")] = False,
    rerun: Annotated[bool, typer.Option(help="end with the command that makes the stale and the missing")] = False,
) -> None:
    """Compare every file under results/ with its record, and its record with today's code and config.

    verified: the bytes its job wrote, and the job has not changed. stale: code, settings, input, model or libraries
    changed since. tampered: other bytes than recorded. missing: recorded, gone. orphan: no rule makes it any more.
    unknown: no record. Exit status 0 only if all are verified.
    """
    from vlmdx.audit.audit import AUDIT, STALE, counts, to_rerun
    from vlmdx.audit.audit import audit as findings_of
    from vlmdx.audit.files import CACHE
    from vlmdx.audit.rules import Rules, WorkflowFault
    from vlmdx.schema import write_table

    if not Path("results").is_dir():
        raise fail(f"no folder results in {Path.cwd()}; start in the folder of the run")
    if rehash:
        CACHE.unlink(missing_ok=True)
    try:
        findings = findings_of(Rules(root(), configfile))
    except WorkflowFault as error:
        raise fail(str(error)) from error
    if parquet:
        write_table(parquet, [asdict(finding) for finding in findings], AUDIT)
    found = counts(findings)
    _show([f for f in findings if f.status != "verified"])
    total = ", ".join(f"{number} {status}" for status, number in found.items())
    typer.echo(f"{len(findings)} artifacts: {total or 'none'}", err=True)
    if rerun and (jobs := to_rerun(findings)):
        wanted = " ".join(sorted({rule for rule, _ in jobs}))
        typer.echo(f"{len(jobs)} jobs to run again ({wanted}): snakemake" + _given(configfile))
    if set(found) - {"verified"}:
        raise typer.Exit(2 if set(found) - {"verified", STALE, "missing"} else 1)


def _show(findings: list) -> None:
    """One line per status, reason and folder, with the number of files: a changed library touches thousands."""
    if not findings:
        return
    groups: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        key = (finding.status, finding.rule or "", finding.reason)
        groups.setdefault(key, []).append(finding.path)
    table = Table("status", "rule", "files", "reason", title_justify="left")
    for (status, rule, reason), files in sorted(groups.items()):
        named = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        table.add_row(Text(status, COLOURS.get(status, "")), Text(rule), Text(named, overflow="fold"), Text(reason))
    wide_console().print(table)


def _given(configfile: Path | None) -> str:
    return f" --configfile {configfile}" if configfile else ""
