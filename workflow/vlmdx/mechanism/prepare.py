"""Items into samples for one model: prompt, gold letter, grounding set, and the random tokens of the control."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from vlmdx.mechanism.grounding import SetAside, item_branches, tokens_of
from vlmdx.mechanism.sample import Sample
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Rule
from vlmdx.scoring.question import Question, Readout, ask


@dataclass(frozen=True)
class Prepared:
    """One item, ready for the engine.

    Attributes:
        item_id, operation, options, answer: as in the item table.
        question: the item as the model is asked it.
        samples: one per branch of the question.
        random: per branch, the same with as many random image tokens from outside B; None where too few are outside.
    """

    item_id: str
    operation: str
    options: tuple[str, ...]
    answer: int
    question: Question
    samples: tuple[Sample, ...]
    random: tuple[Sample | None, ...]

    @property
    def length(self) -> int:
        """Tokens that are run: the prompt, and the gold answer but for its last token."""
        return len(self.samples[0].sequence)


def content(item: Mapping[str, Any], image: bytes) -> str:
    """Hash of all of an item that its effects depend on."""
    fields = [item[k] for k in ("image_id", "question", "options", "answer", "operation", "program", "objects")]
    return hashlib.sha256(json.dumps(fields).encode() + hashlib.sha256(image).digest()).hexdigest()[:16]


def prepare(
    adapter: Adapter,
    item: Mapping[str, Any],
    image: Image.Image,
    template: str,
    rule: Rule,
    seed: int,
    readout: Readout = "letter",
) -> Prepared:
    """One item for one model.

    Args:
        adapter: the model.
        item: row of the item table.
        image: its stored image; the boxes are in its pixels.
        template: text of the prompt file.
        rule: which grid cells belong to a box.
        seed: of the control's tokens, drawn per item and branch.
        readout: whether the gold answer is the gold option's letter or its words.

    Raises:
        SetAside: no gold answer, no grounding object, or no token under its box.
        PromptError: this item cannot be shown to this model.
        NotImplementedError: it is not known what the image tokens of this family show.
    """
    if item["answer"] is None:
        raise SetAside("the item has no gold answer")
    sets = item_branches(item)
    question = ask(adapter, item, readout, template)
    if question.reason:
        raise SetAside(question.reason)
    ids = adapter.encode(question.prompt, image)
    positions, views = adapter.image_views(ids, image)
    target, *more = question.targets[item["answer"]]
    letters = tuple(target[0] for target in question.targets)
    vision = tuple(positions[token] for view in views for token in view.tokens)
    samples, random = [], []
    for branch, names in enumerate(sets):
        tokens = tuple(positions[token] for token in tokens_of(item, names, image.size, views, rule))
        sample = Sample(ids, image, target, letters, vision, tokens, tuple(more))
        samples.append(sample)
        random.append(elsewhere(sample, f"{seed}\0{item['item_id']}\0{branch}"))
    about = item["item_id"], item["operation"], question.options, item["answer"], question
    return Prepared(*about, tuple(samples), tuple(random))


def elsewhere(sample: Sample, key: str) -> Sample | None:
    """The sample with as many image tokens drawn from outside its grounding set; None where too few are outside."""
    outside = sorted(set(sample.vision) - set(sample.tokens))
    if len(outside) < len(sample.tokens):
        return None
    generator = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
    drawn = generator.choice(outside, size=len(sample.tokens), replace=False)
    return replace(sample, tokens=tuple(sorted(drawn.tolist())))
