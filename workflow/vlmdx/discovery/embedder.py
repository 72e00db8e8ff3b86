"""Sentence embeddings of questions that depend on the text alone, not on the batch it came in."""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vlmdx.models.files import check_files, snapshot
from vlmdx.selection.embed import INSTALLED


class Embedder:
    """Texts -> float32 [n, d], rows of length 1.

    One text at a time: in a batch its last bits would depend on its company (seen: 1e-7), and rewards recomputed from
    stored rollouts would differ from those of the run. Each text is encoded once per process.
    """

    def __init__(self, encoder: str = "minilm", revision: str | None = None) -> None:
        """Name an encoder as in :func:`vlmdx.selection.embed.embed_texts`; it is opened when first used."""
        self.encoder, self.revision = encoder, revision
        self._known: dict[str, np.ndarray] = {}

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer  # takes seconds to import

        installed = self.encoder in INSTALLED
        module = import_module(INSTALLED[self.encoder]) if installed else None
        folder = Path(module.get_model_path()) if module else snapshot(self.encoder, self.revision)
        check_files(folder, self.encoder, processor=False)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return SentenceTransformer(
            str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True}
        )

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        for text in texts:
            if text not in self._known:
                (vector,) = self._model.encode([text], convert_to_numpy=True, show_progress_bar=False)
                vector = np.asarray(vector, dtype=np.float64)
                self._known[text] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return np.stack([self._known[text] for text in texts])
