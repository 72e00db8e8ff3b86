"""Supervised fine-tuning of the questioner on questions that made the answerer fail, once or in rounds.

`transformers.Trainer` with one method of its own: the loss is computed from inputs that the adapter makes, the very
path of sampling and of reinforcement learning, which is proven for every family; TRL's collator for vision-language
models has a path of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from transformers import PrinterCallback, Trainer, TrainingArguments
from trl.trainer.utils import add_fused_lm_head

from vlmdx.discovery.decode import check_length
from vlmdx.discovery.panel import Row
from vlmdx.discovery.passes import completion_logprobs
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.sample import turn_end
from vlmdx.discovery.weights import trainable
from vlmdx.models.adapter import Adapter


@dataclass(frozen=True)
class FinetuneSettings:
    """How the questioner is fine-tuned; all values are ours.

    Attributes:
        epochs: passes over the kept questions.
        learning_rate: peak; falls linearly to 0.
        batch_size: questions per step.
        rounds: of expert iteration; fine-tuning alone is one round.
    """

    epochs: int = 2
    learning_rate: float = 1e-5
    batch_size: int = 8
    rounds: int = 4


@dataclass(frozen=True)
class Example:
    """One question to learn: ``prompt`` is the text of the user turn."""

    picture: Picture
    prompt: str
    question: str


def keep_failed(rows: Sequence[Row], pictures: Sequence[Picture]) -> list[Example]:
    """The distinct (image, prompt, question) among ``rows`` that were valid and made the answerer fail, in order."""
    known = {picture.image_id: picture for picture in pictures}
    kept = {
        (row["image_id"], row["prompt"], row["question"]): None
        for row in rows
        if row["valid"] is True and row["correct"] is False
    }
    return [Example(known[image_id], prompt, question) for image_id, prompt, question in kept]


def finetune(
    adapter: Adapter,
    examples: Sequence[Example],
    settings: FinetuneSettings,
    lora_rank: int | None,
    folder: Path,
    seed: int,
) -> tuple[Any, float]:
    """Train ``adapter.model`` on ``examples``; the same examples and seed give the same weights.

    Args:
        folder: for the trainer; nothing of use stays in it.

    Returns:
        The trained model, LoRA not merged, and the mean loss over all steps, nats per token.

    Raises:
        PromptError: an example is longer than the model's context.
        FloatingPointError: the loss is not a number.
    """
    add_fused_lm_head(adapter.model)
    torch.manual_seed(seed)  # LoRA's first weights
    trainer = _Trainer(
        adapter=adapter,
        model=trainable(adapter, lora_rank),
        args=TrainingArguments(
            output_dir=str(folder),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="linear",
            gradient_checkpointing=lora_rank is not None,  # a real model
            save_strategy="no",
            logging_nan_inf_filter=False,
            remove_unused_columns=False,
            seed=seed,
            use_cpu=adapter.model.device.type == "cpu",
            dataloader_pin_memory=False,
            disable_tqdm=True,
            report_to=[],
        ),
        train_dataset=list(examples),
        data_collator=list,
    )
    trainer.remove_callback(PrinterCallback)
    loss = trainer.train().training_loss
    return trainer.accelerator.unwrap_model(trainer.model), loss


class _Trainer(Trainer):
    def __init__(self, *args: Any, adapter: Adapter, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.adapter, self.last = adapter, turn_end(adapter)

    def compute_loss(  # type: ignore[override]
        self, model: Any, inputs: Sequence[Example], *args: Any, **kwargs: Any
    ) -> Tensor:
        """Mean negative log-likelihood of the questions' tokens, the end token included, nats."""
        images: dict[str, Image.Image] = {}
        prompts, completions = [], []
        for example in inputs:
            image = images.setdefault(example.picture.image_id, example.picture.image)
            prompt = self.adapter.render(example.prompt)
            prompts.append(self.adapter.encode(prompt, image))
            said = [*self.adapter.answer_ids(prompt, example.question), self.last]
            completions.append(torch.tensor(said))
            check_length(self.adapter, len(prompts[-1]) + len(said))
        shown = [example.picture.image_id for example in inputs]
        logprobs, _ = completion_logprobs(self.adapter, model, prompts, completions, shown, images)
        loss = -logprobs.sum() / sum(map(len, completions))
        if not torch.isfinite(loss):
            raise FloatingPointError(f"fine-tuning: the loss is {loss.item()}; lower its learning_rate")
        return loss

    def _prepare_inputs(self, inputs: Sequence[Example]) -> Sequence[Example]:  # type: ignore[override]
        return inputs
