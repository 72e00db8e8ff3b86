"""Qwen2-VL and Qwen2.5-VL: any resolution, 2 x 2 patches of 14 px merged into one token, three-dimensional positions.

Sources: arXiv 2409.12191 (section 2.1), arXiv 2502.13923; `smart_resize` of the published processor.
"""

from collections.abc import Sequence
from typing import Any

from PIL import Image
from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import Grid


class Adapter(adapter.Adapter):
    """Qwen2-VL family."""

    @staticmethod
    def limit_pixels(image_processor: Any, max_pixels: int) -> None:
        # The two "edges" of this processor are numbers of pixels. Its `max_pixels` argument has been accepted and
        # ignored by some releases (huggingface/transformers#41955).
        size = dict(image_processor.size)
        least = min(size["shortest_edge"], max_pixels)
        image_processor.size = size | {"longest_edge": max_pixels, "shortest_edge": least}

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        merge = self.processor.image_processor.merge_size
        return [(height // merge, width // merge) for _, height, width in inputs["image_grid_thw"].tolist()]

    def produced_pixels(self, inputs: dict[str, Tensor]) -> int:
        return int(inputs["image_grid_thw"][0].prod()) * self.processor.image_processor.patch_size**2

    def vision_inputs(self, images: Sequence[Image.Image], which: Sequence[int]) -> dict[str, Any]:
        pixels = self.pixels(images)
        return self.shared_features(pixels, which) | {"image_grid_thw": pixels["image_grid_thw"][list(which)]}

    def text_inputs(self, rows: Sequence[adapter.Row]) -> dict[str, Tensor]:
        # The model derives its temporal, height and width positions from the mask, the grid and the token types.
        inputs = super().text_inputs(rows)
        del inputs["position_ids"]
        return inputs | {"mm_token_type_ids": (inputs["input_ids"] == self.image_token_id).int()}
