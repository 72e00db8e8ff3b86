"""InternVL: tiles of fixed size and a thumbnail, all of one length (arXiv 2404.16821, section 3)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from vlmdx.models import adapter


class Adapter(adapter.Adapter):
    """InternVL family."""

    has_grid: ClassVar[bool] = False

    def shared_features(self, pixels: dict[str, Tensor], which: Sequence[int]) -> dict[str, Any]:
        # The vision tower returns tiles, [all tiles, tokens, width]; an image is a run of them.
        output = self.model.get_image_features(pixels["pixel_values"])
        images = output.pooler_output.split(pixels["num_patches"].tolist())
        output.pooler_output = torch.cat([images[i] for i in which])
        return {"mm_encoder_outputs": {"image": output}}
