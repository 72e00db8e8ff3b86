"""Qwen3-VL: Qwen2.5-VL's tokens with 16-px patches, and vision features that also enter deeper layers (DeepStack)."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from vlmdx.models import qwen2_5_vl


class Adapter(qwen2_5_vl.Adapter):
    """Qwen3-VL family."""

    def shared_features(self, pixels: dict[str, Tensor], which: Sequence[int]) -> dict[str, Any]:
        shown = super().shared_features(pixels, which)
        output = shown["mm_encoder_outputs"]["image"]
        output.deepstack_features = [[layer[i] for i in which] for layer in output.deepstack_features]
        return shown
