"""Which weights of the questioner learn: LoRA on the language model, or all but the vision tower."""

from typing import Any

import torch
from peft import LoraConfig, get_peft_model

from vlmdx.models.adapter import Adapter


def full_weights(adapter: Adapter) -> None:
    """Train all weights but the vision tower's: the reward is to change what is asked, not what is seen.

    Raises:
        ValueError: weights in half precision, in which most updates round to nothing; or no vision tower found.
    """
    if adapter.model.dtype != torch.float32:
        raise ValueError(
            f"{adapter.source} is loaded as {adapter.model.dtype}, in which most updates of a full weight round to "
            "nothing; set `lora_rank`, or `dtype: float32`"
        )
    tower = adapter.model.get_encoder(modality="image")
    if tower is adapter.model or tower is adapter.model.base_model:
        raise ValueError(f"{adapter.source}: no vision tower found to keep frozen; set `lora_rank`")
    tower.requires_grad_(False)


def lora(adapter: Adapter, rank: int) -> LoraConfig:
    """LoRA (arXiv 2106.09685) on all linear layers of the language model's decoder, scaled by alpha = 2 rank."""
    inside = {id(module) for layer in adapter.decoder_layers for module in layer.modules()}
    linear = [
        name
        for name, module in adapter.model.named_modules()
        if id(module) in inside and isinstance(module, torch.nn.Linear)
    ]
    return LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=linear, task_type="CAUSAL_LM")


def trainable(adapter: Adapter, rank: int | None) -> Any:
    """The model with the right weights trainable, wrapped by peft where ``rank`` is given."""
    if rank is not None:
        return get_peft_model(adapter.model, lora(adapter, rank))
    full_weights(adapter)
    return adapter.model
