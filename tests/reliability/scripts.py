"""Run a rule's script without Snakemake's scheduler, with the container classes a real job gets."""

import importlib.util
from pathlib import Path
from types import ModuleType

from snakemake.iocontainers import InputFiles, Log, OutputFiles, Params, ResourceList, Snakemake, Wildcards

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, inputs: dict, outputs: dict, settings: dict, **wildcards: str) -> None:
    """Call ``main`` of the script of rule ``name``."""
    flat = InputFiles()
    for key, value in inputs.items():
        files = value if isinstance(value, list) else [value]
        start = len(flat)
        flat.extend(map(str, files))
        flat._set_name(key, start, end=len(flat) if isinstance(value, list) else None)
    params = Params(fromdict={"digest": "d" * 32, "settings": settings})
    outputs = OutputFiles(fromdict={key: str(path) for key, path in outputs.items()})
    job = Snakemake(
        flat, outputs, params, Wildcards(fromdict=wildcards), 1, ResourceList(), Log(), {}, name, None, str(SCRIPTS)
    )
    load(name).main(job)
