"""LLaVA-NeXT: an overview and tiles of the image, with a newline token after each row of tokens.

Source: LLaVA-NeXT blog post of January 2024. The image is resized to the best of some resolutions with its aspect kept
and the rest padded; the tiles' tokens are put together to one grid again, and the rows or columns of padding are cut
off. A token of the overview and one of the grid both show a box, so both belong to its grounding set (ours).
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image
from transformers.image_processing_utils import get_patch_output_size, select_best_resolution
from transformers.image_utils import ChannelDimension
from transformers.models.llava_next.modeling_llava_next import unpad_image

from vlmdx.models import adapter
from vlmdx.models.geometry import Grid, View


class Adapter(adapter.Adapter):
    """LLaVA-NeXT family."""

    has_grid: ClassVar[bool] = False

    def views(self, image: Image.Image) -> Sequence[View]:
        pixels = self.pixels([image])
        size = pixels["image_sizes"][0].tolist()  # height, width
        side = pixels["pixel_values"].shape[-1]
        patch = self.model.config.vision_config.patch_size
        best = select_best_resolution(tuple(size), self.processor.image_processor.image_grid_pinpoints)
        whole = best[0] // patch, best[1] // patch
        # The model's own cut, tried on a grid that holds the cells' numbers.
        kept = unpad_image(torch.arange(whole[0] * whole[1]).view(1, *whole), size)[0]
        top, left = divmod(int(kept[0, 0]), whole[1])
        resized = get_patch_output_size(torch.empty(3, *size, device="meta"), best, ChannelDimension.FIRST)
        scale = [new / old for new, old in zip(resized, size, strict=True)]
        before = [(all_ - new) // 2 for all_, new in zip(best, resized, strict=True)]
        shown = (
            (left * patch - before[1]) / scale[1],
            (top * patch - before[0]) / scale[0],
            kept.shape[1] * patch / scale[1],
            kept.shape[0] * patch / scale[0],
        )
        overview = View(0, (side // patch, side // patch), (0, 0, *image.size))
        grid = self.pooled((kept.shape[0], kept.shape[1]), side // patch)
        return [overview, View(overview.size, grid, shown, marks=1)]

    def pooled(self, grid: Grid, side: int) -> Grid:
        """``grid`` as the model takes it on; ``side`` is that of a tile, in tokens."""
        return grid
