"""Train the demo questioner: a demo model's eyes, taught to ask by imitation (`vlmdx.demo.wordings`).

It starts from the weights of `qwen-demo`, which knows what the image shows, and learns on training scenes to write a
question that it has not asked yet; on three scenes in ten it is shown questions to ask alike (the ConMe-style prompt).
Reinforcement, which comes later, only moves what it has learned here.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from transformers import AutoModelForImageTextToText, AutoProcessor

from vlmdx.demo.draw import draw
from vlmdx.demo.pack import Packer, Segment
from vlmdx.demo.scene import TRAIN_FIRST, generator, sample_scene
from vlmdx.demo.teach import teach
from vlmdx.demo.wordings import EVENLY, FIRM, HABIT, Wordings
from vlmdx.discovery.prompts import questioner_prompt

FIRST = TRAIN_FIRST + 500_000  # scenes that no demo model was trained on
TURNS = 5  # questions about one image, each written in view of the earlier ones
IMAGES, WARMUP = 16, 50
# Steps: all wordings evenly, then the habit, both under one falling rate; then the habit made firm, under another.
LEARN, ADOPT, SETTLE = 700, 400, 200
RATE, SETTLE_RATE = 1e-3, 3e-4
LIKE, SHOWN = 0.3, 5  # share of scenes with questions to ask alike, and how many are shown


def train_questioner(
    start: str | Path,
    folder: str | Path,
    template: str,
    conme: str,
    *,
    seed: int,
    say: Callable[[str], None] = print,
) -> list[dict]:
    """Train into ``folder``, resuming as :func:`vlmdx.demo.teach.teach` does; returns the curve of losses.

    Args:
        start: folder of `qwen-demo`.
        folder: where the model and its processor are saved.
        template: the questioner's prompt file.
        conme: the prompt file with a place for mistakes.
        seed: of the scenes and questions; they are a function of the seed and the step.
        say: called with lines of progress.
    """
    torch.set_num_threads(1)
    processor = AutoProcessor.from_pretrained(start)
    model = AutoModelForImageTextToText.from_pretrained(start, dtype=torch.float32)
    # A question is text for people: no blank in front of its question mark.
    processor.tokenizer.clean_up_tokenization_spaces = True
    model.generation_config.max_new_tokens = 24
    packer = Packer(model, processor)

    def loss(step: int) -> torch.Tensor:
        return _loss(packer, template, conme, seed, FIRST + step * IMAGES, _usual(step))

    return teach(model, processor, folder, loss, _rate, LEARN + ADOPT + SETTLE, say=say)


def _usual(step: int) -> dict[str, float]:
    """How often each wording is asked in ``step``."""
    return EVENLY if step < LEARN else HABIT if step < LEARN + ADOPT else FIRM


def _rate(step: int) -> float:
    """Linear warm-up and a cosine to 0, twice."""
    whole = LEARN + ADOPT
    if step < whole:
        return float(RATE * min(1.0, (step + 1) / WARMUP) * 0.5 * (1 + np.cos(np.pi * step / whole)))
    return float(SETTLE_RATE * 0.5 * (1 + np.cos(np.pi * (step - whole) / SETTLE)))


def _loss(packer: Packer, template: str, conme: str, seed: int, first: int, usual: dict[str, float]) -> torch.Tensor:
    """Mean cross-entropy, nats a token, of the questions about ``IMAGES`` scenes from ``first`` on."""
    images, packs = [], []
    for index in range(first, first + IMAGES):
        scene = sample_scene(seed, index)
        rng = generator(seed, index, 4)
        habit, prompter = usual, partial(questioner_prompt, template)
        if rng.random() < LIKE:
            like = Wordings(sample_scene(seed, index + 1)).draw(rng, SHOWN, EVENLY)
            habit = dict.fromkeys((wording for wording, _ in like), 1.0)
            prompter = partial(questioner_prompt, conme, mistakes=[text for _, text in like])
        asked = [text for _, text in Wordings(scene).draw(rng, TURNS, habit)]
        if asked:  # a scene may allow none of the wordings that are shown
            images.append(draw(seed, scene))
            packs.append([_segment(packer, prompter(asked[:turn]), asked[turn]) for turn in range(len(asked))])
    hidden = packer.hidden(packer.image_tokens(images), packs)
    logits, wanted, weights, _ = packer.gather(hidden, packs, deep=False)
    return (F.cross_entropy(logits, wanted, reduction="none") * weights).sum() / weights.sum()


def _segment(packer: Packer, asked_for: str, text: str) -> Segment:
    """The prompt after the image, then the question, of which every token and the end are to be predicted."""
    prompt = packer.question(asked_for)
    said = [*packer.words(text), packer.processor.tokenizer.eos_token_id]
    start = len(prompt) - 1
    return Segment([*prompt, *said[:-1]], [(start + at, token, 1.0, "ask") for at, token in enumerate(said)])
