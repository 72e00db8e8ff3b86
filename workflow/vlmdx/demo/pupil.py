"""Train the demo's third answerer, `pupil-demo`: `qwen-demo`, half taught the wordings that the demo questioner knows.

The other two were never taught some of those wordings and fail them always. This one answers every wording rightly now
and then, so that a valid question may gain its questioner nothing, as with a real model.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F
from transformers import AutoModelForImageTextToText, AutoProcessor

from vlmdx.demo.draw import draw
from vlmdx.demo.lessons import Prompts, letter_segment, text_segment
from vlmdx.demo.pack import Packer, Segment
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import HELD_OUT_FIRST, TRAIN_FIRST, Scene, generator, sample_scene
from vlmdx.demo.teach import teach
from vlmdx.demo.wordings import EVENLY, Wordings
from vlmdx.discovery.answerer import ModelAnswerer
from vlmdx.discovery.answers import same_answer
from vlmdx.discovery.roles import Question
from vlmdx.models.load import load

FIRST = TRAIN_FIRST + 700_000  # scenes that no demo model was trained on
IMAGES, WORDED, LETTERED = 12, 8, 3  # per step; questions per image, answered in words and by letter
STEPS, WARMUP, RATE = 120, 30, 5e-4
ASKED_FIRST, ASKED = HELD_OUT_FIRST + 20_000, 14  # of the evaluation: its first scene, questions per scene


def train_pupil(
    start: str | Path, folder: str | Path, prompts: Prompts, *, seed: int, say: Callable[[str], None] = print
) -> list[dict]:
    """Train into ``folder``, resuming as :func:`vlmdx.demo.teach.teach` does; returns the curve of losses.

    Args:
        start: folder of `qwen-demo`.
        folder: where the model and its processor are saved.
        prompts: wordings of the product.
        seed: of the scenes and questions; they are a function of the seed and the step.
        say: called with lines of progress.
    """
    torch.set_num_threads(1)
    processor = AutoProcessor.from_pretrained(start)
    model = AutoModelForImageTextToText.from_pretrained(start, dtype=torch.float32)
    packer = Packer(model, processor)

    def loss(step: int) -> torch.Tensor:
        scenes = [sample_scene(seed, FIRST + step * IMAGES + i) for i in range(IMAGES)]
        packs = [lesson(packer, prompts, seed, scene) for scene in scenes]
        seen = packer.image_tokens([draw(seed, scene) for scene in scenes])
        logits, wanted, weights, _ = packer.gather(packer.hidden(seen, packs), packs)
        return (F.cross_entropy(logits, wanted, reduction="none") * weights).sum() / weights.sum()

    return teach(model, processor, folder, loss, _rate, STEPS, say=say)


def lesson(packer: Packer, prompts: Prompts, seed: int, scene: Scene) -> list[Segment]:
    """Questions about a scene in all wordings, answered in words, and some of the world's own, answered by letter."""
    rng, wordings = generator(seed, scene.index, 6), Wordings(scene)
    worded = [text for _, text in wordings.draw(rng, WORDED, EVENLY)]
    return [
        *(text_segment(packer, prompts, text, wordings.answer(text)) for text in worded),
        *(letter_segment(packer, prompts, asked, rng) for _, asked in ask(seed, scene, LETTERED)),
    ]


def by_wording(folder: str | Path, prompts: Prompts, *, seed: int, scenes: int) -> list[dict]:
    """How often a model answers each wording rightly, asked as in discovery: ``wording, questions, right`` (per cent).

    Args:
        folder: of the model.
        prompts: wordings of the product.
        seed: of the scenes and questions.
        scenes: held-out ones, that no other evaluation looks at.
    """
    wordings, questions, truths = [], [], []
    for index in range(ASKED_FIRST, ASKED_FIRST + scenes):
        scene = sample_scene(seed, index)
        image, known = Image.fromarray(draw(seed, scene)), Wordings(scene)
        for wording, text in known.draw(generator(seed, index, 7), ASKED, EVENLY):
            wordings.append(wording)
            questions.append(Question(scene.image_id, image, text))
            truths.append(known.answer(text))
    answers = ModelAnswerer(load(str(folder), device="cpu"), prompts.text).answer(questions)
    right = [same_answer(answer.text, truth) for answer, truth in zip(answers, truths, strict=True)]
    rows = []
    for wording in EVENLY:
        own = [r for r, w in zip(right, wordings, strict=True) if w == wording]
        if own:
            rows.append({"wording": wording, "questions": len(own), "right": round(100 * float(np.mean(own)), 1)})
    return rows


def _rate(step: int) -> float:
    """Linear warm-up and a cosine to 0."""
    return float(RATE * min(1.0, (step + 1) / WARMUP) * 0.5 * (1 + np.cos(np.pi * step / STEPS)))
