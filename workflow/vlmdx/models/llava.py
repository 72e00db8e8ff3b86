"""LLaVA-1.5: one square crop of fixed size through CLIP, one token per patch (arXiv 2310.03744)."""

from collections.abc import Sequence

from PIL import Image
from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import Grid, View


class Adapter(adapter.Adapter):
    """LLaVA family."""

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        count, _, height, width = inputs["pixel_values"].shape
        patch = self.model.config.vision_config.patch_size
        return [(height // patch, width // patch)] * count

    def views(self, image: Image.Image) -> Sequence[View]:
        pixels = self.pixels([image])
        (grid,), made = self.image_grids(pixels), pixels["pixel_values"].shape[-2:]
        processor, (width, height) = self.processor.image_processor, image.size
        size = dict(processor.size)
        if getattr(processor, "do_pad", False):
            raise NotImplementedError(f"{self.source}: boxes on images padded to a square first (do_pad) are not known")
        if not processor.do_center_crop and size.get("height"):
            return [View(0, grid, (0, 0, width, height))]  # the whole image, each side by its own factor
        # Shorter side to size["shortest_edge"], then the centre is cut out: what lies outside has no token.
        resized = [int(side * size["shortest_edge"] / min(image.size)) for side in image.size]
        scale = resized[0] / width, resized[1] / height
        offset = [round((whole - cut) / 2) for whole, cut in zip(resized, (made[1], made[0]), strict=True)]
        shown = offset[0] / scale[0], offset[1] / scale[1], made[1] / scale[0], made[0] / scale[1]
        return [View(0, grid, shown)]
