"""Open a model from a local folder or from the Hugging Face cache, offline, without remote code or pickles."""

import importlib
from pathlib import Path
from typing import Literal

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from vlmdx.models.adapter import Adapter
from vlmdx.models.families import adapter_module
from vlmdx.models.files import check_files, read_config, snapshot

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
    verify: bool = True,
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
        verify: let an adapter that is not written for this family prove itself first.

    Raises:
        FileNotFoundError: the files are not here, or the folder holds no safetensors weights.
        ValueError: unknown family, code of the model's own that is not trusted, or a failed verification.
    """
    folder = snapshot(source, revision, trust_remote_code)
    check_files(folder, source)
    adapter = importlib.import_module(adapter_of(folder, source, family, trust_remote_code)).Adapter
    local = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    processor = AutoProcessor.from_pretrained(folder, **local)
    if max_pixels is not None:
        adapter.limit_pixels(processor.image_processor, max_pixels)
    place = pick_device(device)
    # Straight to an accelerator: 34 billion parameters need not pass through the host's memory.
    there = {} if place.type == "cpu" else {"device_map": {"": place}}
    try:
        model = AutoModelForImageTextToText.from_pretrained(
            folder,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            attn_implementation=attention,
            use_safetensors=True,
            **there,
            **local,
        )
    except (ValueError, ImportError) as error:  # e.g. Gemma 2, inside PaliGemma 2, has no sdpa
        raise ValueError(
            f"{source} cannot be opened with `attention: {attention}`, `dtype: {dtype}`: {error}"
        ) from error
    model.to(place).eval()  # type: ignore[arg-type]
    opened = adapter(model, processor, source, max_pixels)
    if verify:
        opened.verify()
    return opened


def adapter_of(folder: Path, source: str, family: str | None, trust_remote_code: bool) -> str:
    """Module with the adapter of the model in ``folder``.

    Raises:
        ValueError: unknown family, or the model needs code of its own that is not trusted.
    """
    config = read_config(folder)
    try:
        return adapter_module(family or config["model_type"])
    except ValueError as error:
        if "auto_map" in config and not trust_remote_code:
            raise ValueError(
                f"{source}: this model brings Python code of its own (auto_map in its config.json), which is not run; "
                "read it, and if you trust it set `trust_remote_code: true` and `family: generic` in the model's entry"
            ) from error
        raise ValueError(f"{source}: {error}") from error


def pick_device(device: str) -> torch.device:
    """``device``, or for "auto" the best one there is."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
