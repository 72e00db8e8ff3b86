"""Idefics3 and SmolVLM: tiles with row and column marks and a global view (arXiv 2408.12637; arXiv 2504.05299)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image
from torch import Tensor

from vlmdx.models import adapter


class Adapter(adapter.Adapter):
    """Idefics3 family."""

    has_grid: ClassVar[bool] = False

    @property
    def decoder_layers(self) -> torch.nn.ModuleList:
        return self.model.model.text_model.layers

    def pixels(self, images: Sequence[Image.Image]) -> dict[str, Tensor]:
        made = super().pixels(images)
        return {name: made[name] for name in ("pixel_values", "pixel_attention_mask")}
