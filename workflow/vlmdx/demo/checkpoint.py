"""Save a demo model so that the ordinary loading code opens it: half-precision weights, float32 at load."""

import json
import os
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from vlmdx.demo.tokens import folder_bytes

MAX_BYTES = 5_000_000


def save_model(model, processor, folder: str | Path) -> None:
    """Write model, processor, tokenizer, chat template and generation config; a kill leaves the old folder or none.

    The weights are stored in float16, the config says float32, so that ``from_pretrained`` computes in float32.

    Raises:
        ValueError: the folder would exceed ``MAX_BYTES``.
    """
    folder = Path(folder)
    new = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    model.save_pretrained(new)
    processor.save_pretrained(new)
    weights = new / "model.safetensors"
    half = {name: tensor.to(torch.float16) for name, tensor in load_file(weights).items()}
    save_file(half, weights, metadata={"format": "pt"})
    weights.chmod(0o644)  # safetensors leaves it readable by its owner alone
    config = json.loads((new / "config.json").read_text())
    for part in (config, config.get("text_config", {}), config.get("vision_config", {})):
        part["dtype"] = "float32"
    (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if folder_bytes(new) > MAX_BYTES:
        raise ValueError(f"{new}: {folder_bytes(new)} bytes, at most {MAX_BYTES} may ship")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new.rename(folder)


def workplace(model: Path) -> Path:
    """Folder in which ``model`` is trained: before a rerun Snakemake removes declared outputs, and nothing else."""
    work = model.with_name(f"{model.name}.training")
    work.mkdir(parents=True, exist_ok=True)
    return work / model.name


def deliver(trained: Path, model: Path) -> None:
    """Put a model that was trained in its :func:`workplace` where it is wanted, and clear the workplace.

    Copied, not moved: a kill from here on must leave a training that can still be finished.
    """
    new = model.with_name(f".{model.name}.{os.getpid()}")
    shutil.copytree(trained, new)
    shutil.rmtree(model, ignore_errors=True)
    new.rename(model)
    shutil.rmtree(trained.parent)
