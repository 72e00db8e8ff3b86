"""The six methods at one budget: which questions are asked in training, by whom, and what is learned from them.

All training questions stand in one plan of ``settings.steps`` steps, the same images, turns and seeds for every method.
Reinforcement learning learns after each step; expert iteration after each of ``rounds`` equal parts of the plan; SFT
is expert iteration of one round; the ConMe-style method asks the whole plan without learning, and shows the answerer's
mistakes in its prompts afterwards; RL after SFT gives the first half of the steps to SFT. Zero-shot asks nothing.
"""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from vlmdx.discovery.checkpoints import export
from vlmdx.discovery.finetune import FinetuneSettings, finetune, keep_failed
from vlmdx.discovery.job import METHODS, UNTRAINED, Job, Method, Policy, claim
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture, check_pictures
from vlmdx.discovery.plan import Place, check_batch, plan
from vlmdx.discovery.reinforce import reinforce
from vlmdx.discovery.rollouts import Recorder, read_parts
from vlmdx.discovery.sample import seed_of
from vlmdx.discovery.sequence import ask_images, ask_plan, plain, with_mistakes
from vlmdx.discovery.settings import TrainSettings, check_vllm
from vlmdx.schema import atomic


def train_questioner(
    job: Job,
    policy: Policy,
    panel: Panel,
    pictures: Sequence[Picture],
    settings: TrainSettings,
    tuning: FinetuneSettings,
) -> pa.Table:
    """Spend the training budget of a method; leaves ``checkpoint/`` unless the method trains nothing.

    Whoever has stored what this returns calls :meth:`Job.settle`: the working files are gigabytes.

    Killed at any point and called again, it goes on: reinforcement learning from its newest whole checkpoint, the
    other methods from their last finished step or round, with the same result as an unbroken run.

    Args:
        job: which method.
        policy: the questioner to start from.
        panel: the judges.
        pictures: training images.
        settings: of the plan and of reinforcement learning.
        tuning: of fine-tuning.

    Returns:
        ROLLOUTS of the phase "train": ``settings.steps * settings.questions`` rows for every method but zero-shot,
        which asks none.

    Raises:
        ValueError: settings that do not fit together, before any model is loaded.
        NoSignal: reinforcement learning got no spread in its rewards for too long.
    """
    if job.method not in METHODS:
        raise ValueError(f"method {job.method!r}: expected one of {', '.join(METHODS)}")
    pictures = check_pictures(pictures)
    prompts = check_batch(settings.batch_size, settings.accumulation, settings.generations, len(pictures))
    check_vllm(settings)
    check_steps(job.method, settings, tuning)
    claim(job.training, job.identity, job.checkpoint)
    steps = plan([p.image_id for p in pictures], prompts, settings.questions_per_image, settings.steps, job.seed)
    recorder = Recorder(job.training / "rollouts", job.fixed("train"), job.provenance)
    if job.method == "conme":
        ask_plan(policy.open(), panel, pictures, steps, settings, recorder, job.seed)
    elif job.method != "zero-shot" and not job.trained:
        cuts = rounds(job.method, settings.steps, tuning.rounds)
        reached = _tune(job, policy, panel, pictures, steps, cuts, settings, tuning, recorder)
        first = cuts[-1]
        if first < settings.steps:
            adapter = policy.open(reached)
            model = reinforce(
                adapter, panel, pictures, steps[first:], settings, recorder, job.training, job.seed, first
            )
            export(adapter, model, job.checkpoint)
        elif reached is not None:
            reached.rename(job.checkpoint)
    table = read_parts(recorder.folder)
    due = 0 if job.method == "zero-shot" else settings.steps * settings.questions
    if table.num_rows != due:
        raise ValueError(f"{recorder.folder}: {table.num_rows} rows, expected {due}; remove {job.folder} and run again")
    return table


def ask_held_out(
    job: Job,
    policy: Policy,
    panel: Panel,
    pictures: Sequence[Picture],
    settings: TrainSettings,
    conme: str,
    mistakes: Sequence[str] = (),
    mistakes_shown: int = 5,
) -> pa.Table:
    """Ask ``questions_per_image`` questions about each held-out image with what :func:`train_questioner` left.

    Args:
        conme: the prompt file of the ConMe-style method, as text.
        mistakes: questions of its training that failed, which its prompts show.
        mistakes_shown: how many of them a prompt shows (ours).

    Returns:
        ROLLOUTS of the phase "held-out", one row per image and turn.

    Raises:
        FileNotFoundError: the method's checkpoint is not there.
        ValueError: no image, or ConMe without any mistake.
    """
    pictures = check_pictures(pictures)
    prompter = plain(panel.instruction)
    checkpoint = None if job.method in UNTRAINED else job.checkpoint
    if checkpoint is not None and not job.trained:
        raise FileNotFoundError(f"{checkpoint}: not there; train the questioner first (`train_questioner`)")
    if job.method == "conme":
        prompter = with_mistakes(conme, mistakes, mistakes_shown, job.seed)
        panel = replace(panel, instruction=conme)
    claim(job.asking, job.identity)
    fixed = job.fixed("held-out")
    adapter = policy.open(checkpoint)
    return ask_images(adapter, panel, pictures, settings, job.asking, fixed, job.seed, prompter, job.provenance)


def rounds(method: Method, steps: int, number: int) -> list[int]:
    """Steps of the plan after which ``method`` is fine-tuned, ascending; ``[0]`` for none.

    What is left of the plan after the last one goes to reinforcement learning.
    """
    if method == "rl":
        return [0]
    if method == "sft-rl":
        return [steps // 2]
    number = 1 if method == "sft" else number
    return [steps * (i + 1) // number for i in range(number)]


def check_steps(method: Method, settings: TrainSettings, tuning: FinetuneSettings) -> None:
    """Refuse a plan with too few steps for the method's rounds.

    Raises:
        ValueError: with the least number of steps.
    """
    least = {"expert-iteration": tuning.rounds, "sft-rl": 2}.get(method, 1)
    if settings.steps < least:
        raise ValueError(f"steps: {settings.steps} is too few for {method}; give {least} or more")


def _tune(
    job: Job,
    policy: Policy,
    panel: Panel,
    pictures: Sequence[Picture],
    steps: Sequence[Sequence[Place]],
    cuts: Sequence[int],
    settings: TrainSettings,
    tuning: FinetuneSettings,
    recorder: Recorder,
) -> Path | None:
    """Fine-tune on the failed questions of each part of the plan; the policy that this leaves, None if untouched."""
    reached: Path | None = None
    first = 0
    for number, cut in enumerate(cuts):
        made = job.training / f"round-{number + 1}"
        if cut > first and not made.exists():
            adapter = policy.open(reached)
            rows = ask_plan(adapter, panel, pictures, steps[first:cut], settings, recorder, job.seed, first)
            examples = keep_failed(rows, pictures)
            if not examples:
                raise ValueError(
                    f"{job.method}, round {number + 1}: none of {len(rows)} questions was valid and answered wrongly, "
                    "so there is nothing to learn from; raise `steps` or `temperature`"
                )
            seed = seed_of(job.seed, "round", number) % 2**32
            model, loss = finetune(adapter, examples, tuning, settings.lora_rank, job.training / "trainer", seed)
            _note(job.training / "rounds.csv", number + 1, len(rows), len(examples), loss)
            export(adapter, model, made)
        reached = made if cut > first else reached
        first = cut
    return reached


def _note(path: Path, number: int, questions: int, kept: int, loss: float) -> None:
    """Append a line to the record of rounds; lines of rounds that are made again go."""
    known = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
    lines: list[dict[str, Any]] = [line for line in known if int(line["round"]) < number]
    lines.append({"round": number, "questions": questions, "kept": kept, "loss": f"{loss:.6g}"})
    with atomic(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[-1]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
