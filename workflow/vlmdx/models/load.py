"""Open a model from a local folder or from the Hugging Face cache, offline, without remote code or pickles."""

import importlib
import json
from pathlib import Path
from typing import Literal

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from vlmdx.models.adapter import Adapter
from vlmdx.models.families import adapter_module

DType = Literal["float32", "bfloat16", "float16", "auto"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]


def load(
    source: str,
    revision: str | None = None,
    family: str | None = None,
    dtype: DType = "float32",
    device: str = "auto",
    attention: Attention = "sdpa",
    max_pixels: int | None = None,
    trust_remote_code: bool = False,
) -> Adapter:
    """Load a model and its processor behind the adapter of its family.

    Args:
        source: local folder, or hub id whose files lie in the local cache (nothing is downloaded here).
        revision: commit, tag or branch of a hub id.
        family: model type whose adapter to use; None takes the one in the model's config.
        dtype: of the weights; "auto" as stored. Scores are always computed from float32 logits.
        device: "auto" (cuda, else mps, else cpu) or a torch device.
        attention: transformers' attention implementation.
        max_pixels: largest number of pixels per image after the processor's resize; None = the processor's own.
        trust_remote_code: run Python files that come with the model.

    Raises:
        FileNotFoundError: the files are not here, or the folder holds no safetensors weights.
        ValueError: unknown family.
    """
    folder = snapshot(source, revision)
    check_weights(folder, source)
    local = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    model_type = family or AutoConfig.from_pretrained(folder, **local).model_type
    adapter = importlib.import_module(adapter_module(model_type)).Adapter
    processor = AutoProcessor.from_pretrained(folder, **local)
    if max_pixels is not None:
        adapter.limit_pixels(processor.image_processor, max_pixels)
    model = AutoModelForImageTextToText.from_pretrained(
        folder,
        dtype=dtype if dtype == "auto" else getattr(torch, dtype),
        attn_implementation=attention,
        use_safetensors=True,
        **local,
    )
    model.to(pick_device(device)).eval()  # type: ignore[arg-type]
    return adapter(model, processor, source, max_pixels)


def snapshot(source: str, revision: str | None = None) -> Path:
    """Folder with the model's files: ``source`` itself, or the cached snapshot of a hub id.

    Raises:
        FileNotFoundError: not in the cache; jobs never download, because parallel jobs would spoil each other's files
            on network file systems and compute nodes have no internet.
    """
    if Path(source).is_dir():
        return Path(source)
    try:
        return Path(snapshot_download(source, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError) as error:
        at = f" at revision {revision}" if revision else ""
        raise FileNotFoundError(
            f"model {source!r}{at} is neither a folder nor in the Hugging Face cache; "
            "run `vlmdx fetch` on a machine with internet access"
        ) from error


def check_weights(folder: Path, source: str) -> None:
    """Insist on whole safetensors weights: opening a pickled checkpoint runs whatever code is in it.

    Raises:
        FileNotFoundError: no safetensors file (the message names the pickled ones), or shards are missing.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = set(json.loads(index.read_text())["weight_map"].values())
        if missing := sorted(name for name in shards if not (folder / name).is_file()):
            raise FileNotFoundError(f"{source}: {folder} lacks {', '.join(missing)}; run `vlmdx fetch` again")
    elif not any(folder.glob("*.safetensors")):
        pickled = sorted(f.name for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt") for f in folder.glob(pattern))
        found = f"only pickled weights ({', '.join(pickled)}), which are refused" if pickled else "no weights"
        raise FileNotFoundError(f"{source}: {folder} has {found}; expected *.safetensors")


def pick_device(device: str) -> torch.device:
    """``device``, or for "auto" the best one there is."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
