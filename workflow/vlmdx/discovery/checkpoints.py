"""Checkpoints that are whole, or not there: a trainer's own folders with a manifest, and the final policy by rename."""

import json
import logging
import os
import shutil
from pathlib import Path

from vlmdx.models.adapter import Adapter
from vlmdx.schema import atomic

MANIFEST = "complete.json"
logger = logging.getLogger(__name__)


def seal(folder: Path) -> None:
    """List the files of a finished checkpoint with their sizes; the manifest is the last file to appear in it."""
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    with atomic(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(sizes, indent=1, sort_keys=True))


def whole(folder: Path) -> bool:
    """The checkpoint has its manifest, and every file in it is there at its size."""
    try:
        sizes = json.loads((folder / MANIFEST).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def newest(folder: Path) -> tuple[Path | None, int]:
    """The newest whole checkpoint below ``folder`` and its step; ``(None, 0)`` if there is none.

    Half-written ones, and newer ones of a run that is about to be made again, are removed with a warning: the trainer
    would otherwise count them, and a later look for the newest would find them.
    """
    steps = {int(path.name.rpartition("-")[2]): path for path in folder.glob("checkpoint-*")}
    for step in sorted(steps, reverse=True):
        if whole(steps[step]):
            return steps[step], step
        logger.warning("%s is not whole (the run was killed while it was written); it is removed", steps[step])
        shutil.rmtree(steps[step])
    return None, 0


def export(adapter: Adapter, model, folder: str | os.PathLike) -> Path:
    """Write the policy as a Hugging Face folder (model and processor) that `vlmdx.models.load` opens.

    Args:
        adapter: for the processor.
        model: the trained model; LoRA weights are merged into it.
        folder: appears by one rename, whole; an older one goes.
    """
    folder = Path(folder)
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    new = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    model.save_pretrained(new)
    adapter.processor.save_pretrained(new)
    for path in new.glob("*.safetensors"):
        path.chmod(0o644)  # safetensors leaves it readable by its owner alone
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)
    return folder
