"""One run of reinforcement learning: from a policy, a panel and a plan to trained weights, resumable at any point."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trl import GRPOConfig

from vlmdx.discovery.callbacks import Watch
from vlmdx.discovery.checkpoints import newest
from vlmdx.discovery.grpo import QuestionerTrainer
from vlmdx.discovery.log import Log
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.plan import Place
from vlmdx.discovery.rollouts import Recorder, read_parts
from vlmdx.discovery.sample import banned_ids
from vlmdx.discovery.settings import TrainSettings
from vlmdx.discovery.weights import full_weights, lora
from vlmdx.models.adapter import Adapter

logger = logging.getLogger(__name__)


def reinforce(
    adapter: Adapter,
    panel: Panel,
    pictures: Sequence[Picture],
    plan: Sequence[Sequence[Place]],
    settings: TrainSettings,
    recorder: Recorder,
    folder: Path,
    seed: int,
    first: int = 0,
) -> Any:
    """Train ``adapter.model`` with GRPO over the steps of ``plan``.

    A run that was killed goes on from its newest whole checkpoint, with the same prompts, seeds, rewards and weights
    as if it had not been (on one device kind, with deterministic kernels): rollouts and log lines after that
    checkpoint are dropped and made again.

    Args:
        adapter: the policy to start from.
        panel: the judges.
        pictures: images to ask about.
        plan: the places of each step.
        settings: how.
        recorder: of the rollouts.
        folder: of trainer checkpoints (``checkpoints/``) and ``log.csv``.
        seed: of the run.
        first: steps of the run that were spent before, e.g. on fine-tuning.

    Returns:
        The trained model, LoRA not merged.

    Raises:
        NoSignal: too many steps in a row without any spread in the rewards.
        ValueError: pixels do not reach a pass.
    """
    checkpoint, step = newest(folder / "checkpoints")
    for part in recorder.folder.glob("step-*.parquet"):
        if int(part.stem.rpartition("-")[2]) > first + step:
            part.unlink()
    done = read_parts(recorder.folder).to_pylist()
    if checkpoint:
        logger.warning("going on after step %d, from %s", first + step, checkpoint)
    if settings.lora_rank is None:
        full_weights(adapter)
    trainer = QuestionerTrainer(
        adapter=adapter,
        panel=panel,
        pictures=pictures,
        plan=plan,
        settings=settings,
        recorder=recorder,
        args=_arguments(adapter, settings, len(plan), folder / "checkpoints", seed),
        watch=Watch(Log(folder / "log.csv", keep=first + step), settings.generations, settings.patience, first),
        first=first,
        seed=seed,
        done=done,
        peft=None if settings.lora_rank is None else lora(adapter, settings.lora_rank),
    )
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    return trainer.accelerator.unwrap_model(trainer.model)


def _arguments(adapter: Adapter, settings: TrainSettings, steps: int, folder: Path, seed: int) -> GRPOConfig:
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulation,
        num_generations=settings.generations,
        max_completion_length=settings.max_tokens,
        temperature=settings.temperature,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        beta=settings.beta,
        mask_truncated_completions=settings.mask_truncated,
        use_vllm=settings.use_vllm,
        # Our own sampler bans them itself.
        generation_kwargs={"logit_bias": dict.fromkeys(banned_ids(adapter), -100.0)} if settings.use_vllm else None,
        shuffle_dataset=False,  # the plan is the order
        remove_unused_columns=False,
        disable_dropout=True,
        bf16=False,  # computed in the type the questioner was loaded in
        gradient_checkpointing=settings.lora_rank is not None,  # a real model; the demo's would only be slower
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=settings.save_every,
        save_total_limit=2,
        seed=seed,
        use_cpu=adapter.model.device.type == "cpu",
        dataloader_pin_memory=False,
        disable_tqdm=True,
        report_to=[],
    )
