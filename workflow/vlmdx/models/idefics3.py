"""Idefics3 and SmolVLM: tiles with row and column marks and a global view (arXiv 2408.12637; arXiv 2504.05299).

A token of a tile and one of the global view both show a box, so both belong to its grounding set (ours).
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image
from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import View, tiles


class Adapter(adapter.Adapter):
    """Idefics3 family."""

    has_grid: ClassVar[bool] = False

    @property
    def decoder_layers(self) -> torch.nn.ModuleList:
        return self.model.model.text_model.layers

    def pixels(self, images: Sequence[Image.Image]) -> dict[str, Tensor]:
        made = super().pixels(images)
        return {name: made[name] for name in ("pixel_values", "pixel_attention_mask")}

    def views(self, image: Image.Image) -> Sequence[View]:
        made = self.processor.image_processor(images=[[image]], return_row_col_info=True, return_tensors="pt")
        arrangement = int(made["rows"][0][0]), int(made["cols"][0][0])
        side = math.isqrt(self.processor.image_seq_len)
        grid = side, side
        # The whole image is resized onto the tiles, each side by its own factor, and onto the global view.
        cut = tiles(0, arrangement, grid, image.size)
        return [*cut, View(len(cut) * self.processor.image_seq_len, grid, (0, 0, *image.size))]
