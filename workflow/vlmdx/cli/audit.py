"""`vlmdx audit`: which artifacts are still true?"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from vlmdx.cli.project import LastConfigFile, chosen_configs, fail, in_run_folder, root, snakefile_elsewhere
from vlmdx.cli.wide import wide_console

if TYPE_CHECKING:
    from vlmdx.audit.audit import Finding
    from vlmdx.audit.rules import Rules

COLOURS = {"verified": "green", "stale": "yellow", "orphan": "yellow", "tampered": "red", "missing": "red"}


def audit(
    configfile: LastConfigFile = None,
    parquet: Annotated[Path | None, typer.Option(help="also write the findings to this file, as Parquet")] = None,
    rehash: Annotated[
        bool, typer.Option("--rehash", help="read every file again, whatever the last audit remembers")
    ] = False,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="end with the command that mends it, and the jobs it would run")
    ] = False,
) -> None:
    """Is every file under results/ still what its job wrote, and would the job still write it today?

    \b
    verified   the bytes that its job wrote, and the job has not changed
    stale      code, settings, input, model or libraries changed since: which
    tampered   other bytes than recorded
    missing    recorded, and gone
    orphan     no rule makes it any more under this config
    unknown    no record of it

    Exit status 0 if all are verified, 1 if the worst is stale or missing, 2 otherwise.
    """
    from vlmdx.audit.audit import AUDIT, STALE, counts
    from vlmdx.audit.audit import audit as findings_of
    from vlmdx.audit.files import CACHE
    from vlmdx.audit.rules import Rules, WorkflowFault
    from vlmdx.schema import write_table

    in_run_folder()
    if rehash:
        CACHE.unlink(missing_ok=True)
    configfiles = chosen_configs(configfile)
    try:
        rules = Rules(root(), *configfiles)
    except WorkflowFault as error:
        raise fail(str(error)) from error
    findings = findings_of(rules)
    if parquet:
        write_table(parquet, [asdict(finding) for finding in findings], AUDIT)
    found = counts(findings)
    _show([f for f in findings if f.status != "verified"])
    total = ", ".join(f"{number} {status}" for status, number in found.items())
    judged = " and ".join(map(str, configfiles)) or "the embedded default config"
    typer.echo(f"{len(findings)} artifacts under {judged}: {total or 'none'}", err=True)
    if rerun and set(found) - {"verified"}:
        _tell_remedy(rules, findings, configfiles)
    if set(found) - {"verified"}:
        raise typer.Exit(2 if set(found) - {"verified", STALE, "missing"} else 1)


def _tell_remedy(rules: "Rules", findings: "list[Finding]", configfiles: list[Path]) -> None:
    """Print the command that mends the run, and the jobs that Snakemake itself lists for it."""
    from vlmdx.audit.audit import read_records
    from vlmdx.audit.rerun import dry_run, remedy, shown

    mend = remedy(rules, findings, read_records()[0])
    if mend.left:
        files = f"{mend.left[0]}" + (f" and {len(mend.left) - 1} more" if len(mend.left) > 1 else "")
        typer.echo(f"no rule makes {files}: delete what you do not want")
    if not mend.targets:
        return
    words = mend.words(configfiles, snakefile_elsewhere())
    try:
        jobs, _ = dry_run(words)
    except RuntimeError as error:
        raise fail(str(error)) from error
    jobs = {rule: number for rule, number in jobs.items() if rule not in rules.targets}
    listed = ", ".join(f"{number} {rule}" for rule, number in jobs.items())
    typer.echo(f"{sum(jobs.values())} jobs to run again{f' ({listed})' if listed else ''}:")
    typer.echo(shown(words))


def _show(findings: "list[Finding]") -> None:
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
