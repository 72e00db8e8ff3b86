"""PaliGemma 1 and 2: image, BOS, prompt and newline, which all see each other; no chat turns (arXiv 2407.07726)."""

import math
from collections.abc import Sequence

import torch
from PIL import Image
from torch import Tensor

from vlmdx.models import adapter
from vlmdx.models.geometry import Grid


class Adapter(adapter.Adapter):
    """PaliGemma family."""

    separator = ""

    def render(self, text: str) -> str:
        """The prompt as the published processor lays it out."""
        return f"{self.processor.image_token}{self.processor.tokenizer.bos_token}{text}\n"

    def encode_text(self, text: str) -> list[int]:
        return self.processor.tokenizer(text, add_special_tokens=False)["input_ids"]

    def process(self, prompt: str, image: Image.Image) -> dict[str, Tensor]:
        # The processor adds BOS and newline itself.
        start = self.processor.image_token + self.processor.tokenizer.bos_token
        inner = self.processor.image_token + prompt.removeprefix(start).removesuffix("\n")
        inputs = super().process(inner, image)
        return {name: tensor for name, tensor in inputs.items() if name != "labels"}

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        side = math.isqrt(self.processor.image_seq_length)
        return [(side, side)] * len(inputs["pixel_values"])

    def text_inputs(self, rows: Sequence[adapter.Row]) -> dict[str, Tensor]:
        # Positions count from 1. Type 0 is the prefix, which sees all of itself; a given answer (type 1) is causal.
        inputs = super().text_inputs(rows)
        types = self._pad([(torch.arange(len(r.ids)) > len(r.ids) - r.keep).long() for r in rows], 0)
        types = types.to(inputs["input_ids"].device)
        return inputs | {"position_ids": inputs["position_ids"] + 1, "token_type_ids": types}
