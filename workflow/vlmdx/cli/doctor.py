"""`vlmdx doctor`: does a model keep the contract that every number here rests on?"""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vlmdx.cli.project import ConfigFile, fail, read_jobs, root

if TYPE_CHECKING:
    from vlmdx.models.contract import Verdict

OPENED_WITH = ("source", "revision", "family", "dtype", "attention", "max_pixels", "trust_remote_code")


def doctor(
    model: Annotated[str | None, typer.Argument(help="folder, or hub id that `vlmdx fetch` brought here")] = None,
    every: Annotated[bool, typer.Option("--all", help="all models of the config, opened as it says")] = False,
    configfile: ConfigFile = None,
    revision: Annotated[str | None, typer.Option(help="commit, tag or branch of a hub id")] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16 or auto")] = "float32",
    attention: Annotated[str, typer.Option(help="sdpa, eager or flash_attention_2")] = "sdpa",
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu")] = "auto",
    family: Annotated[str | None, typer.Option(help="model type whose adapter to use, or generic")] = None,
) -> None:
    """Check a model before it costs anything: one line per check, exit status 1 if one fails.

    A model of a family without an adapter is tried with the generic one.
    """
    if (model is None) != every:
        raise fail("give either a model (folder or hub id) or --all")
    if model is not None:
        asked = {"source": model, "revision": revision, "family": family, "dtype": dtype, "attention": attention}
        asked |= {"device": device} | _as_scored(model, revision)
        patients = {model: asked}
    else:
        jobs = read_jobs(configfile)
        patients = {
            slug: {**entry.model_dump(include=set(OPENED_WITH)), "source": jobs.here(entry.source), "device": device}
            for slug, entry in jobs.config.models.items()
        }
    failed = [name for name, settings in patients.items() if not _examine(name, settings)]
    if failed:
        raise fail(f"{len(failed)} of {len(patients)} models fail: {', '.join(failed)}")
    typer.echo(f"{len(patients)} of {len(patients)} models keep the contract", err=True)


def _as_scored(model: str, revision: str | None) -> dict[str, Any]:
    """The commit that the lock file holds for a hub id, unless another was asked for."""
    from vlmdx.config import ConfigError
    from vlmdx.config.pins import LOCK, read_pins

    if revision or Path(model).is_dir():
        return {}
    try:
        pins = read_pins(root() / LOCK)
    except ConfigError as error:
        raise fail(str(error)) from error
    return next(({"revision": pin.revision} for pin in pins.values() if pin.source == model), {})


def _examine(name: str, settings: dict[str, Any]) -> bool:
    """Print one model's table."""
    table = Table("check", "", "detail", title=Text(name), title_justify="left", expand=False)
    passed = True
    for verdict in _verdicts(settings):
        passed = passed and verdict.passed
        mark = Text("passed", "green") if verdict.passed else Text("failed", "red")
        table.add_row(Text(verdict.check), mark, Text(verdict.detail))
    Console().print(table)
    gc.collect()
    return passed


def _verdicts(settings: dict[str, Any]) -> "Iterator[Verdict]":
    """Opening the model counts as the first check; where it fails there is nothing more to see."""
    from vlmdx.models.contract import Verdict, examine
    from vlmdx.models.families import FAMILIES, GENERIC
    from vlmdx.models.files import read_config, snapshot
    from vlmdx.models.load import load

    try:
        folder = snapshot(settings["source"], settings["revision"], settings.get("trust_remote_code", False))
        model_type = read_config(folder)["model_type"]
        family = settings["family"] or (model_type if model_type in FAMILIES else GENERIC)
        adapter = load(**settings | {"family": family}, verify=False)
    except Exception as error:
        yield Verdict("open", False, str(error) or type(error).__name__)
        return
    shown = adapter.describe()
    told = ", ".join(str(shown[key]) for key in ("processor", "dtype", "device", "attention"))
    generic = "; if all checks pass, use it with `family: generic`" if family == GENERIC else ""
    yield Verdict("open", True, f"model type {model_type}, adapter {shown['family']}: {told}{generic}")
    yield from examine(adapter)
