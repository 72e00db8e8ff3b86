"""Gemma 3: one square resize through SigLIP, pooled to 16 x 16 tokens that see each other (arXiv 2503.19786)."""

import math
from collections.abc import Sequence

from PIL import Image
from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import Grid


class Adapter(adapter.Adapter):
    """Gemma 3 family."""

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        side = math.isqrt(self.model.config.mm_tokens_per_image)
        return [(side, side)] * len(inputs["pixel_values"])

    def pixels(self, images: Sequence[Image.Image]) -> dict[str, Tensor]:
        made = super().pixels(images)
        return {"pixel_values": made["pixel_values"]}

    def text_inputs(self, rows: Sequence[adapter.Row]) -> dict[str, Tensor]:
        # Image tokens attend to each other in both directions; the model learns which they are from the types.
        inputs = super().text_inputs(rows)
        return inputs | {"token_type_ids": (inputs["input_ids"] == self.image_token_id).long()}
