"""The passes that training stands on: log-probabilities of completions, and proof that they see the pixels."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from PIL import Image, ImageOps
from torch import Tensor

from vlmdx.models.adapter import Adapter, Row


def completion_logprobs(
    adapter: Adapter,
    model: Any,
    prompts: Sequence[Tensor],
    completions: Sequence[Tensor],
    shown: Sequence[str],
    images: Mapping[str, Image.Image],
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies of completions' tokens, from TRL's fused head (no logits of whole prompts).

    Args:
        adapter: makes the inputs.
        model: what runs, with ``trl.trainer.utils.add_fused_lm_head``; the adapter's model or a wrapper of it.
        prompts: int64 [length] each, image tokens expanded.
        completions: int64 [length] each; may be empty.
        shown: id of the image of each row.
        images: by id; each passes the vision tower once.

    Returns:
        Two float tensors [rows, longest completion], nats, 0 after a row's end; the second is 0 if the head gives no
        entropies.
    """
    order = {image_id: number for number, image_id in enumerate(images)}
    which = [order[image_id] for image_id in shown]
    ids = [torch.cat(pair).cpu() for pair in zip(prompts, completions, strict=True)]
    adapter = replace(adapter, padding_side="right")
    text = adapter.text_inputs([Row(row, number) for row, number in zip(ids, which, strict=True)])
    device = text["input_ids"].device
    starts = torch.tensor([len(prompt) for prompt in prompts], device=device)[:, None]
    lengths = torch.tensor([len(said) for said in completions], device=device)[:, None]
    steps = torch.arange(max(1, int(lengths.max())), device=device)
    positions = torch.arange(text["input_ids"].shape[1], device=device)
    said = (positions >= starts) & (positions < starts + lengths)
    labels = text["input_ids"].masked_fill(~said, -100)
    out = model(**text, **adapter.vision_inputs(list(images.values()), which), labels=labels, fused_lm_head=True)
    real = steps < lengths
    places = (starts + steps - 1).clamp(max=out.log_probs.shape[1] - 1)  # entry i is about token i + 1

    def take(values: Tensor) -> Tensor:
        return values.gather(1, places).masked_fill(~real, 0.0)

    logprobs = take(out.log_probs)
    return logprobs, torch.zeros_like(logprobs) if out.entropy is None else take(out.entropy)


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
