"""The passes that training stands on: log-probabilities of completions, and proof that they see the pixels."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from PIL import Image, ImageOps
from torch import Tensor

from vlmdx.models.adapter import Adapter, Row


def completion_logprobs(
    adapter: Adapter,
    model: Any,
    ids: Tensor,
    mask: Tensor,
    keep: int,
    shown: Sequence[str],
    images: Mapping[str, Image.Image],
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies of completions, from TRL's fused head.

    Args:
        adapter: makes the inputs.
        model: what runs, with TRL's fused head (``trl.trainer.utils.add_fused_lm_head``); the adapter's model or a
            wrapper of it.
        ids: int64 [rows, prompt + keep]: prompts filled up on the left, completions on the right.
        mask: int64, the same shape: 1 at real tokens.
        keep: length of the longest completion.
        shown: id of the image of each row.
        images: by id; each passes the vision tower once.

    Returns:
        Two float tensors [rows, keep], nats; 0 where ``mask`` is 0.
    """
    order = {image_id: number for number, image_id in enumerate(images)}
    which = [order[image_id] for image_id in shown]
    rows = [Row(row[real.bool()].cpu(), number) for row, real, number in zip(ids, mask, which, strict=True)]
    text = adapter.text_inputs(rows)
    real = mask[:, -keep:].bool()
    # Where the completion's tokens stand in the rows as the adapter lays them out.
    lengths, said = mask.sum(1, keepdim=True), real.sum(1, keepdim=True)
    places = lengths - said + torch.arange(keep, device=ids.device)
    offset = 0 if adapter.padding_side == "right" else text["input_ids"].shape[1] - lengths
    places = (places + offset).clamp(max=text["input_ids"].shape[1] - 1)
    labels = torch.full_like(text["input_ids"], -100)
    for row, place, used in zip(labels, places, real, strict=True):
        row[place[used]] = 1
    labels = torch.where(labels == 1, text["input_ids"], -100)
    vision = adapter.vision_inputs(list(images.values()), which)
    out = model(**text, **vision, labels=labels, fused_lm_head=True)
    # Entry i of the head's output is about token i + 1.
    logprobs, entropies = (
        torch.where(real, values.gather(1, (places - 1).clamp(max=values.shape[1] - 1)), 0.0)
        if values is not None
        else None
        for values in (out.log_probs, out.entropy)
    )
    return logprobs, torch.zeros_like(logprobs) if entropies is None else entropies


@torch.no_grad()
def prove_pixels(trainer: Any, batch: dict[str, Any]) -> None:
    """Compute the log-probabilities of a batch with its images and with their negatives; they must differ.

    A pass without pixels gives normal-looking losses (unslothai/unsloth#11031), so looking at the loss proves nothing.

    Args:
        trainer: a `QuestionerTrainer` whose latest generation is ``batch``.
        batch: before it is cut into micro-batches.

    Raises:
        ValueError: they are the same, in the policy or in the reference.
    """
    policy = trainer.accelerator.unwrap_model(trainer.model)
    passes = [("policy", trainer.model, nullcontext())]
    if trainer.beta and trainer.ref_model is not None:
        passes.append(("reference", trainer.ref_model, nullcontext()))
    elif trainer.beta:  # LoRA: the reference is the model without its adapter
        passes.append(("reference", trainer.model, policy.disable_adapter()))
    negatives = {image_id: ImageOps.invert(image) for image_id, image in trainer._images.items()}
    mask = batch["completion_mask"]
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    real = torch.cat([batch["prompt_mask"], mask], dim=1)
    size = trainer.args.per_device_train_batch_size
    for name, model, context in passes:
        with context:
            seen, other = (
                trainer._get_per_token_logps_and_entropies(model, ids, real, mask.shape[1], size, images=images)[0]
                for images in (None, negatives)
            )
        if torch.equal(seen, other) and mask.any():
            raise ValueError(
                f"{trainer.adapter.source}: the {name}'s log-probabilities are the same for an image and its negative: "
                "the pixels do not reach it, and training would be blind; use a questioner of a tested family"
            )
