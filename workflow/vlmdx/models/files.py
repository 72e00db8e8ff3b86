"""Where a model's files lie and whether they are all there; opens without torch and never touches the network."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors import SafetensorError, safe_open

# Configuration, tokenizer, chat template and safetensors weights; no pickles, no Python, no second set of weights.
FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")
LEFT_OUT = ("consolidated*", "original/*")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# A model is opened with these; each line is served by any one of its files.
NEEDED = (
    ("config.json",),
    ("processor_config.json", "preprocessor_config.json"),
    ("tokenizer.json", "tokenizer.model", "vocab.json"),
)


def wanted(trust_remote_code: bool = False) -> list[str]:
    """Patterns of the files of a hub repository that belong to a model; ``LEFT_OUT`` are the exceptions."""
    return [*FILES, *(("*.py",) if trust_remote_code else ())]


def snapshot(source: str, revision: str | None = None, trust_remote_code: bool = False) -> Path:
    """Folder with the model's files: ``source`` itself, or the cached snapshot of a hub id.

    Raises:
        FileNotFoundError: not in the cache, or only in part; jobs never download, because parallel jobs would spoil
            each other's files on network file systems and compute nodes have no internet.
    """
    if Path(source).is_dir():
        return Path(source)
    at = f" at revision {revision}" if revision else ""
    try:
        found = snapshot_download(
            source,
            revision=revision,
            local_files_only=True,
            allow_patterns=wanted(trust_remote_code),
            ignore_patterns=list(LEFT_OUT),
        )
    except LocalEntryNotFoundError as error:
        # Hub releases that remember a repository's file list name the files that are missing.
        part = f" ({error})" if hasattr(error, "snapshot_path") else ""
        raise FileNotFoundError(
            f"model {source!r}{at} is neither a folder nor whole in the Hugging Face cache{part}; "
            "run `vlmdx fetch` on a machine with internet access"
        ) from error
    except ValueError as error:
        raise FileNotFoundError(f"model {source!r} is neither a folder nor a hub id: {error}") from error
    return Path(found)


def check_files(folder: Path, source: str, processor: bool = True) -> None:
    """Insist on whole safetensors weights: opening a pickled checkpoint runs whatever code is in it.

    Args:
        processor: the model comes with its processor and tokenizer.

    Raises:
        FileNotFoundError: what is missing or cut short; the message names pickled weights.
    """
    again = "run `vlmdx fetch` again"
    for names in NEEDED if processor else NEEDED[:1]:
        if not any((folder / name).is_file() for name in names):
            raise FileNotFoundError(f"{source}: {folder} lacks {' or '.join(names)}; {again}")
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        if missing := [name for name in shards if not (folder / name).is_file()]:
            raise FileNotFoundError(f"{source}: {folder} lacks {', '.join(missing)}; {again}")
        weights = [folder / name for name in shards]
    else:
        weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = sorted(f.name for pattern in PICKLES for f in folder.glob(pattern))
        found = f"only pickled weights ({', '.join(pickled)}), which are refused" if pickled else "no weights"
        raise FileNotFoundError(f"{source}: {folder} has {found}; expected *.safetensors")
    for path in weights:
        try:
            with safe_open(path, framework="np"):  # compares the file's length with its header; reads no weights
                pass
        except SafetensorError as error:
            raise FileNotFoundError(f"{source}: {path} is cut short or no safetensors ({error}); {again}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The model's config.json.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no JSON object, or names no model type.
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{folder / 'config.json'}: no JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        raise ValueError(f"{folder / 'config.json'}: names no model_type")
    return found
