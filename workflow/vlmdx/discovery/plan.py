"""Which images are asked about in which step of training, and the arithmetic of its batches."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One prompt of the plan: ``image`` is an index into the pictures, ``turn`` counts from 0."""

    image: int
    turn: int


def check_batch(batch_size: int, accumulation: int, generations: int, images: int) -> int:
    """Prompts per step, from the numbers a user sets; to be called before any model is loaded.

    Args:
        batch_size: questions per forward and backward pass.
        accumulation: passes per optimizer step.
        generations: questions drawn for each prompt, the group of GRPO.
        images: images to train on.

    Returns:
        ``batch_size * accumulation / generations``.

    Raises:
        ValueError: the numbers do not fit; the message names those that do.
    """
    for name, value in (("batch_size", batch_size), ("accumulation", accumulation)):
        if value < 1:
            raise ValueError(f"{name}: {value} is not possible; give 1 or more")
    questions = batch_size * accumulation
    fitting = [n for n in range(2, questions + 1) if questions % n == 0 and questions // n <= images]
    if generations < 2:
        raise ValueError(
            f"generations: {generations} question per prompt leaves nothing to compare it with; give 2 or more"
            + (f" (with {questions} questions per step: {fitting})" if fitting else "")
        )
    if questions % generations:
        raise ValueError(
            f"batch_size x accumulation = {batch_size} x {accumulation} = {questions} questions per step cannot be cut "
            f"into groups of generations = {generations}; give generations one of {fitting or 'none'}, or make "
            f"batch_size x accumulation a multiple of {generations} (e.g. batch_size {generations}, accumulation 1)"
        )
    prompts = questions // generations
    if prompts > images:
        raise ValueError(
            f"{prompts} prompts per step (batch_size x accumulation / generations = {questions} / {generations}) need "
            f"as many different images, but there are {images}; give generations one of {fitting or 'none'}, lower "
            f"accumulation, or add images"
        )
    return prompts


def plan(image_ids: Sequence[str], prompts: int, turns: int, steps: int, seed: int) -> list[list[Place]]:
    """The places of every step.

    In ``turns`` steps that follow each other, the same ``prompts`` images get their questions 0, 1, ..., so that the
    earlier ones of a sequence are recent. Then the next images come; when less than ``prompts`` are left over, a new
    round starts in another order. The order depends on seed and ids alone.

    Args:
        image_ids: unique.
        prompts: images per step, at most ``len(image_ids)``.
        turns: questions per image and sequence.
        steps: how many.
        seed: of the run.
    """
    groups = len(image_ids) // prompts
    made: list[list[Place]] = []
    orders: dict[int, list[int]] = {}
    for step in range(steps):
        block, turn = divmod(step, turns)
        number, group = divmod(block, groups)
        if number not in orders:
            orders = {number: sorted(range(len(image_ids)), key=lambda i: _key(seed, number, image_ids[i]))}
        made.append([Place(i, turn) for i in orders[number][group * prompts : (group + 1) * prompts]])
    return made


def _key(seed: int, number: int, image_id: str) -> bytes:
    return hashlib.sha256(f"{seed}\x1f{number}\x1f{image_id}".encode()).digest()
