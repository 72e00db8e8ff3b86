"""LLaVA-1.5: one square crop of fixed size through CLIP, one token per patch (arXiv 2310.03744)."""

from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import Box, Grid


class Adapter(adapter.Adapter):
    """LLaVA family."""

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        count, _, height, width = inputs["pixel_values"].shape
        patch = self.model.config.vision_config.patch_size
        return [(height // patch, width // patch)] * count

    def box_in_grid(self, box: Box, image_size: tuple[int, int], grid: Grid) -> Box:
        # Shorter side to size["shortest_edge"], then the centre is cut out: what lies outside has no token.
        x, y, w, h = box
        processor, patch = self.processor.image_processor, self.model.config.vision_config.patch_size
        short = min(image_size)
        resized = [int(side * processor.size["shortest_edge"] / short) for side in image_size]
        crop = processor.crop_size
        offset_x = round((resized[0] - crop["width"]) / 2)
        offset_y = round((resized[1] - crop["height"]) / 2)
        scale_x, scale_y = resized[0] / image_size[0], resized[1] / image_size[1]
        left, top = x * scale_x - offset_x, y * scale_y - offset_y
        return left / patch, top / patch, w * scale_x / patch, h * scale_y / patch
