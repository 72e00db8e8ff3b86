"""Held-out accuracy of a saved demo model, asked exactly as the product asks: one prompt, next-token logits."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from vlmdx.demo.asked import options
from vlmdx.demo.draw import draw
from vlmdx.demo.lessons import Prompts
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import HELD_OUT_FIRST, generator, sample_scene
from vlmdx.models.prompts import fill, letters, user_turn

FIRST = HELD_OUT_FIRST + 10_000  # scenes that the learning curve never looked at
CORRUPTIONS = ("clean", "gaussian_noise", "gaussian_blur", "fog", "contrast")
BATCH = 32


def load(folder: str | Path):
    """``(model, processor)`` through the ordinary loading code, float32, eval mode; prompts padded on the left."""
    processor = AutoProcessor.from_pretrained(folder)
    processor.tokenizer.padding_side = "left"  # the answer position is then the last one in every row
    return AutoModelForImageTextToText.from_pretrained(folder).eval(), processor


def held_out_items(seed: int, scenes: int, per_scene: int, first: int = FIRST) -> list[dict]:
    """Held-out questions: ``image`` (uint8 HxWx3), ``question, options, gold`` (index), ``operation, kind, answer``."""
    items = []
    for index in range(first, first + scenes):
        scene = sample_scene(seed, index)
        image, rng = draw(seed, scene), generator(seed, index, 3)
        for operation, asked in ask(seed, scene, per_scene):
            choices = options(asked, rng)
            items.append(
                {
                    "image": image,
                    "question": asked.text,
                    "options": choices,
                    "answer": asked.answer,
                    "gold": choices.index(asked.answer),
                    "operation": operation,
                    "kind": asked.kind,
                }
            )
    return items


def corrupt(image: np.ndarray, corruption: str, severity: int, seed: int) -> np.ndarray:
    """``imagecorruptions`` under a fixed global seed, since that package draws from ``np.random``."""
    if corruption == "clean":
        return image
    from imagecorruptions import corrupt as damage  # heavy import, needed for this alone

    np.random.seed(seed)  # noqa: NPY002 -- the one source of randomness that the package reads
    return damage(image, corruption_name=corruption, severity=severity)


@torch.no_grad()
def option_probabilities(model, processor, template: str, items: list[dict]) -> list[np.ndarray]:
    """Letter read-out: softmax of the last prompt token's logits over the option letters, one array per item."""
    found = []
    for batch, part in _batches(processor, items, lambda i: fill(template, i["question"], i["options"])):
        logits = model(**batch).logits[:, -1].float()
        for row, item in zip(logits, part, strict=False):
            ids = processor.tokenizer.convert_tokens_to_ids(letters(len(item["options"])))
            found.append(torch.softmax(row[ids], 0).numpy())
    return found


@torch.no_grad()
def said_words(model, processor, template: str, items: list[dict]) -> list[str]:
    """Text read-out: the likeliest next word of the whole vocabulary."""
    found = []
    for batch, _ in _batches(processor, items, lambda i: fill(template, i["question"])):
        found += processor.tokenizer.convert_ids_to_tokens(model(**batch).logits[:, -1].argmax(-1).tolist())
    return found


def _batches(processor, items: list[dict], text):
    for start in range(0, len(items), BATCH):
        part = items[start : start + BATCH]
        prompts = [processor.apply_chat_template(user_turn(text(i)), add_generation_prompt=True) for i in part]
        images = [Image.fromarray(i["image"]) for i in part]
        yield processor(text=prompts, images=images, return_tensors="pt", padding=True), part


def report(folder: str | Path, prompts: Prompts, *, seed: int, scenes: int = 150, per_scene: int = 8) -> list[dict]:
    """Rows ``{mode, corruption, severity, group, accuracy, chance, questions}`` of a checkpoint on held-out scenes.

    Groups are ``all``, ``four options``, ``two options``, ``yes/no`` and the operations; corrupted rows, severity 5,
    exist for the letter read-out only, its ``chance`` is the mean of 1 / options.
    """
    torch.set_num_threads(1)
    model, processor = load(folder)
    items = held_out_items(seed, scenes, per_scene)
    rows = []
    words = said_words(model, processor, prompts.text, items)
    rows += _rows("text", "clean", items, np.array([w == i["answer"] for w, i in zip(words, items, strict=False)]))
    for corruption in CORRUPTIONS:
        damaged = {id(i["image"]): corrupt(i["image"], corruption, 5, n) for n, i in enumerate(items)}
        seen = [{**i, "image": damaged[id(i["image"])]} for i in items]
        chosen = option_probabilities(model, processor, prompts.letter, seen)
        rows += _rows(
            "letter",
            corruption,
            items,
            np.array([int(p.argmax()) == i["gold"] for p, i in zip(chosen, items, strict=False)]),
        )
    return rows


def _rows(mode: str, corruption: str, items: list[dict], right: np.ndarray) -> list[dict]:
    groups = {
        "all": lambda i: True,
        "four options": lambda i: len(i["options"]) == 4,
        "yes/no": lambda i: set(i["options"]) == {"yes", "no"},
    }
    groups["two alternatives"] = lambda i: i["operation"] == "choose"
    groups |= {op: (lambda i, op=op: i["operation"] == op) for op in sorted({i["operation"] for i in items})}
    rows = []
    for name, belongs in groups.items():
        mine = np.array([belongs(i) for i in items])
        chance = np.mean([1 / len(i["options"]) for i, m in zip(items, mine, strict=False) if m])
        rows.append(
            {
                "mode": mode,
                "corruption": corruption,
                "severity": 0 if corruption == "clean" else 5,
                "group": name,
                "accuracy": round(float(right[mine].mean()), 4),
                "chance": round(float(chance), 3),
                "questions": int(mine.sum()),
            }
        )
    return rows
