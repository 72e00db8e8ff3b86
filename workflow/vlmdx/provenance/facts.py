"""What a running job can tell about itself: device, dtype, seed, and which model with which processor.

Read from the job's settings and from libraries that the job has loaded already; nothing is imported for it.
"""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What turns a question and a picture into tensors; the weights are another matter.
PROCESSOR = (
    "chat_template.jinja",
    "chat_template.json",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "video_preprocessor_config.json",
)


def compute_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``device``, ``dtype`` and ``seed``; NULL where the job has none.

    A setting of "auto" is told as what torch has here, in the order in which models are placed: cuda, mps, cpu.
    """
    device, torch = settings.get("device"), sys.modules.get("torch")
    if torch is not None and device is not None:
        if device == "auto":
            mps = torch.backends.mps.is_available()
            device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
        if device.startswith("cuda"):
            device = f"{device} ({torch.cuda.get_device_name(torch.device(device))})"
    return {"device": device, "dtype": settings.get("dtype"), "seed": settings.get("seed")}


def model_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``model``: source, revision and the hash of its processor files; NULL for a job without a model.

    A job that opens several (questioner, answerer, verifier) tells all of them by role as ``models``; ``model`` is then
    the first of them.
    """
    roles = {role: own for role, own in settings.items() if isinstance(own, Mapping) and own.get("source")}
    if roles:
        models = {role: _model_fact(own["source"], own.get("revision")) for role, own in roles.items()}
        return {"model": next(iter(models.values())), "models": models}
    source = settings.get("source") or settings.get("image_encoder")
    if source is None:
        return {"model": None}
    return {"model": _model_fact(source, settings.get("revision") or settings.get("image_revision"))}


def _model_fact(source: str, revision: str | None) -> dict[str, Any]:
    return {"source": source, "revision": revision, "processor": processor_sha256(source, revision)}


def processor_sha256(source: str, revision: str | None) -> str | None:
    """SHA-256 over the processor's and tokenizer's files; NULL where the model is not on this machine."""
    folder = _folder(source, revision)
    if folder is None:
        return None
    total = hashlib.sha256()
    for name in PROCESSOR:
        if (folder / name).is_file():
            total.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    return total.hexdigest()


def _folder(source: str, revision: str | None) -> Path | None:
    if Path(source).is_dir():
        return Path(source)
    hub = sys.modules.get("huggingface_hub")
    if hub is None:
        return None
    try:
        return Path(hub.snapshot_download(source, revision=revision, local_files_only=True))
    except (OSError, ValueError):
        return None
