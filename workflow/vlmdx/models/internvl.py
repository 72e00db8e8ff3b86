"""InternVL: tiles of fixed size and a thumbnail, all of one length (arXiv 2404.16821, section 3).

A token of a tile and one of the thumbnail both show a box, so both belong to its grounding set (ours).
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from PIL import Image
from torch import Tensor
from transformers.models.got_ocr2.image_processing_got_ocr2 import get_optimal_tiled_canvas

from vlmdx.models import adapter
from vlmdx.models.geometry import View, tiles


class Adapter(adapter.Adapter):
    """InternVL family."""

    has_grid: ClassVar[bool] = False

    def shared_features(self, pixels: dict[str, Tensor], which: Sequence[int]) -> dict[str, Any]:
        # The vision tower returns tiles, [all tiles, tokens, width]; an image is a run of them.
        output = self.model.get_image_features(pixels["pixel_values"])
        images = output.pooler_output.split(pixels["num_patches"].tolist())
        output.pooler_output = torch.cat([images[i] for i in which])
        return {"mm_encoder_outputs": {"image": output}}

    def views(self, image: Image.Image) -> Sequence[View]:
        processor, (width, height) = self.processor.image_processor, image.size
        (made,) = self.pixels([image])["num_patches"].tolist()
        side = math.isqrt(self.processor.image_seq_length)
        whole = View(0, (side, side), (0, 0, width, height))
        if made == 1:
            return [whole]
        tile = processor.size["height"], processor.size["width"]
        columns, rows = get_optimal_tiled_canvas((height, width), tile, processor.min_patches, processor.max_patches)
        if rows * columns + 1 != made:
            raise ValueError(
                f"{self.source}: {made} tiles of an image of {image.size}, expected {rows} x {columns} + 1"
            )
        cut = tiles(0, (rows, columns), whole.grid, image.size)
        return [*cut, View(len(cut) * whole.size, whole.grid, whole.shown)]
