"""Ask a policy that does not change: the training questions of the baselines, and everybody's held-out questions."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from tqdm import tqdm

from vlmdx.discovery.memory import Memory
from vlmdx.discovery.panel import Panel, Row, Slot, images_of
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.plan import Place
from vlmdx.discovery.prompts import questioner_prompt
from vlmdx.discovery.rollouts import Recorder, read_parts
from vlmdx.discovery.sample import Sampled, ask, question_seed, seed_of
from vlmdx.discovery.settings import TrainSettings
from vlmdx.models.adapter import Adapter
from vlmdx.schema import read_table
from vlmdx.schema.tables import ROLLOUTS

Prompter = Callable[[Picture, int, Sequence[str]], str]  # picture, turn, earlier questions -> text of the user turn


def plain(instruction: str) -> Prompter:
    """The questioner's own prompt file."""
    return lambda picture, turn, earlier: questioner_prompt(instruction, earlier)


def with_mistakes(instruction: str, mistakes: Sequence[str], shown: int, seed: int) -> Prompter:
    """ConMe-style: the prompt shows ``shown`` of the answerer's earlier mistakes, drawn per image and turn.

    Raises:
        ValueError: there are no mistakes to show.
    """
    known = sorted(set(mistakes))
    if not known:
        raise ValueError(
            "conme: the answerer made no mistake on any of the training questions, so there is none to show; raise "
            "`steps`, or leave this method out"
        )

    def prompt(picture: Picture, turn: int, earlier: Sequence[str]) -> str:
        drawn = random.Random(seed_of(seed, "mistakes", picture.image_id, turn)).sample(known, min(shown, len(known)))
        return questioner_prompt(instruction, earlier, drawn)

    return prompt


def ask_plan(
    adapter: Adapter,
    panel: Panel,
    pictures: Sequence[Picture],
    plan: Sequence[Sequence[Place]],
    settings: TrainSettings,
    recorder: Recorder,
    seed: int,
    first: int = 0,
) -> list[Row]:
    """Ask the questions of ``plan`` without learning from them, one rollout part per step; parts that exist stay.

    The same images, turns and seeds as in reinforcement learning, hence the same number of questions.

    Args:
        first: steps of the run before ``plan[0]``.

    Returns:
        The rows of these steps, in order.
    """
    memory = panel.memory(read_parts(recorder.folder, last=first).to_pylist())
    rows: list[Row] = []
    for step, places in enumerate(tqdm(plan, desc="ask training images", unit="step"), start=first + 1):
        part = recorder.folder / f"step-{step:05d}.parquet"
        if part.exists():
            made = read_table(part, ROLLOUTS).to_pylist()
            memory.add_rows(made)
        else:
            shown = [(pictures[place.image], place.turn) for place in places]
            slots = place_slots(shown, step, settings.generations, seed, memory, plain(panel.instruction))
            made = recorder.rows(panel.grade(slots, draw_slots(adapter, slots, settings), memory))
            recorder.write(step, made)
        rows += made
    return rows


def ask_images(
    adapter: Adapter,
    panel: Panel,
    pictures: Sequence[Picture],
    settings: TrainSettings,
    folder: Path,
    fixed: Row,
    seed: int,
    prompter: Prompter,
    provenance: Any = None,
) -> pa.Table:
    """Ask each image its sequence of questions, each seeing the earlier ones; every turn is stored when it is done.

    Args:
        folder: of the parts, ``turn-{turn}/``; a killed job goes on with the first turn that is not there.
        fixed: run, method, seed and phase.
        prompter: makes the prompts.
        provenance: for the footers.

    Returns:
        ROLLOUTS, one row per image and turn, at step 0.
    """
    memory = panel.memory()
    tables = []
    for turn in range(settings.questions_per_image):
        recorder = Recorder(folder / f"turn-{turn}", fixed, provenance)
        done = read_parts(recorder.folder)
        if done.num_rows:
            memory.add_rows(done.to_pylist())
        else:
            slots = place_slots([(picture, turn) for picture in pictures], 0, 1, seed, memory, prompter)
            recorder.write(0, panel.grade(slots, draw_slots(adapter, slots, settings), memory))
            done = read_parts(recorder.folder)
        tables.append(done)
    return pa.concat_tables(tables)


def place_slots(
    shown: Sequence[tuple[Picture, int]], step: int, samples: int, seed: int, memory: Memory, prompter: Prompter
) -> list[Slot]:
    """The questions to draw for (picture, turn), ``samples`` of each prompt."""
    made = []
    for picture, turn in shown:
        earlier = memory.earlier(picture.image_id) if turn else ()
        prompt = prompter(picture, turn, earlier)
        made += [
            Slot(picture, step, turn, i, question_seed(seed, step, picture.image_id, turn, i), prompt, earlier)
            for i in range(samples)
        ]
    return made


def draw_slots(adapter: Adapter, slots: Sequence[Slot], settings: TrainSettings) -> list[Sampled]:
    """One question per slot."""
    drawn: list[Sampled] = []
    size = settings.batch_size * settings.accumulation
    quiet = len(slots) <= size
    for start in tqdm(range(0, len(slots), size), desc="draw questions", unit="batch", disable=quiet, leave=False):
        part = slots[start : start + size]
        images = images_of(part)
        drawn += ask(
            adapter,
            [slot.prompt for slot in part],
            [images[slot.picture.image_id] for slot in part],
            [slot.seed for slot in part],
            settings.temperature,
            settings.max_tokens,
            size,
        )
    return drawn
