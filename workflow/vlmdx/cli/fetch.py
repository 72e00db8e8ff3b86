"""`vlmdx fetch`: bring the config's hub models to this machine and pin their commits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from vlmdx.cli.project import ConfigFile, fail, read_jobs, root

if TYPE_CHECKING:
    from vlmdx.config.pins import HubModel, Pin
    from vlmdx.models.fetch import Fetched


def fetch(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="hub ids to fetch alone, for `vlmdx doctor`; none: all of the config, and write the lock"),
    ] = None,
    configfile: ConfigFile = None,
) -> None:
    """Download models from the hub, on a machine with internet access; jobs never do.

    Pins the commit of every hub id of the config in config/models.lock.yaml and downloads it. What is pinned already
    stays at its commit.
    """
    from vlmdx.config.pins import LOCK, HubModel, hub_models, read_pins

    if models:
        wanted, lock, pins = {source: HubModel(source, None) for source in models}, None, {}
    else:
        jobs = read_jobs(configfile)
        lock = root() / LOCK
        wanted, pins = hub_models(jobs.asked, jobs.here), read_pins(lock)
    console, failures = Console(stderr=True), []
    for place, hub in wanted.items():
        console.print(f"[bold]{escape(place)}[/] {escape(hub.source)}")
        try:
            fetched = _fetch(place, hub, pins, lock)
        except (RuntimeError, FileNotFoundError, ValueError) as error:
            failures.append(str(error))
            console.print(f"  [red]failed[/] {escape(str(error))}", soft_wrap=True)
        else:
            shown = f"{fetched.revision} ({fetched.model_type}) in {fetched.folder}"
            console.print(f"  [green]here[/] {escape(shown)}", soft_wrap=True)
    if failures:
        raise fail(
            f"{len(failures)} of {len(wanted)} models could not be fetched; what is missing:\n" + "\n".join(failures)
        )
    console.print(f"{len(wanted)} hub models are here" + (f"; their commits are in {lock}" if lock and wanted else ""))


def _fetch(place: str, hub: "HubModel", pins: "dict[str, Pin]", lock: Path | None) -> "Fetched":
    """Fetch one model at its pinned commit, or pin it."""
    from vlmdx.config.pins import Pin, pin_of, write_pins
    from vlmdx.models.fetch import fetch, resolve

    pin = pin_of(place, hub, pins)
    commit = hub.commit or (pin.revision if pin else resolve(hub.source, hub.revision))
    if lock is None:  # by name, so that `vlmdx doctor` finds it by name
        return fetch(hub.source, hub.revision or "main")
    fetched = fetch(hub.source, commit, hub.trust_remote_code, processor=not hub.encoder)
    requested = None if hub.commit else hub.revision
    found = Pin(source=hub.source, revision=commit, model_type=fetched.model_type, requested=requested)
    write_pins(lock, {place: found})
    return fetched
