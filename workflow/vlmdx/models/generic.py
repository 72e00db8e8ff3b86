"""Any other family: the processor's own inputs, one sequence at a time, and the contract as the price of entry.

Nothing is shared between the rows of a batch and nothing about the family is assumed, so this is slow; what it still
has to assume (image placeholder, decoder layers, answer position) is proved when a job opens the model.
"""

import inspect
from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image
from torch import Tensor

from vlmdx.models import adapter, contract
from vlmdx.models.geometry import View


class Adapter(adapter.Adapter):
    """Family without an adapter of its own."""

    has_grid: ClassVar[bool] = False

    def verify(self) -> None:
        for verdict in contract.examine(self):
            if not verdict.passed:
                raise ValueError(
                    f"{self.source}: the generic adapter fails the check {verdict.check!r}: {verdict.detail}; this "
                    "model cannot be used without an adapter of its own"
                )

    @property
    def image_token_id(self) -> int:
        for owner in (self.model.config, self.processor):
            for name in ("image_token_id", "image_token_index"):
                if isinstance(found := getattr(owner, name, None), int):
                    return found
        raise ValueError(f"{self.source}: neither processor nor config names the image token")

    @property
    def decoder_layers(self) -> torch.nn.ModuleList:
        layers = getattr(self.model.get_decoder(), "layers", None)
        if not isinstance(layers, torch.nn.ModuleList):
            raise ValueError(f"{self.source}: no list of decoder layers")
        return layers

    def produced_pixels(self, inputs: dict[str, Tensor]) -> int:
        # Images or patches in any layout: everything but the colour channels.
        return inputs["pixel_values"].numel() // 3

    def views(self, image: Image.Image) -> Sequence[View]:
        raise NotImplementedError(f"{self.source}: the generic adapter does not know what an image token shows")

    def pixels(self, images: Sequence[Image.Image]) -> dict[str, Tensor]:
        (image,) = images
        inputs = self.process(self.render("?"), image)
        shape = inputs["input_ids"].shape
        return {name: tensor.to(self.model.device) for name, tensor in inputs.items() if tensor.shape != shape}

    def text_inputs(self, rows: Sequence[adapter.Row]) -> dict[str, Tensor]:
        # Positions are left to the model. Token types, where the processor makes them, mark the image tokens; that this
        # is right for this family is a check of the contract.
        inputs = super().text_inputs(rows)
        del inputs["position_ids"]
        marks = [name for name in self.processor.model_input_names if name.endswith("token_type_ids")]
        return inputs | {name: (inputs["input_ids"] == self.image_token_id).long() for name in marks}

    @torch.inference_mode()
    def logits(self, rows: Sequence[adapter.Row], images: Sequence[Image.Image]) -> Tensor:
        longest, kept = max(row.keep for row in rows), []
        takes = inspect.signature(self.model.forward).parameters
        for row in rows:
            inputs = self.pixels([images[row.image]]) | self.text_inputs([row])
            last = {"logits_to_keep": row.keep} if "logits_to_keep" in takes else {}
            found = self.model(**inputs, **last, use_cache=False).logits[0, -row.keep :].float()
            kept.append(torch.cat([found, found[-1:].expand(longest - row.keep, -1)]))
        return torch.stack(kept)
