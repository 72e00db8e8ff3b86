"""An item as one model is asked it: the rendered prompt and the token ids its answer is read from."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from PIL import Image

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.prompts import LETTERS, fill
from vlmdx.models.tokens import PromptError

Readout = Literal["letter", "text"]


@dataclass(frozen=True)
class Question:
    """One item, made ready once and asked about every version of its image.

    Attributes:
        targets: letter read-out: one id per option; text read-out: the ids of each option's text.
        reason: why this model cannot be asked this item at all, else None.
    """

    item_id: str
    image_id: str
    options: tuple[str, ...]
    answer: int | None
    letters: tuple[str, ...]
    prompt: str = ""
    targets: tuple[tuple[int, ...], ...] = ()
    reason: str | None = None


def ask(adapter: Adapter, item: Mapping[str, Any], readout: Readout, template: str) -> Question:
    """Render one item for ``adapter``; what cannot be asked carries its reason.

    Raises:
        ValueError: the item has no options, or (from the adapter) the model has no usable chat template.
    """
    options = tuple(item["options"])
    if not options:
        raise ValueError(f"item {item['item_id']!r} has no options; the {readout} read-out compares at least one")
    shown = readout == "letter" and len(options) <= len(LETTERS)
    names = tuple(LETTERS[: len(options)]) if shown else ("",) * len(options)
    base = (item["item_id"], item["image_id"], options, item["answer"], names)
    if readout == "letter" and not shown:
        return Question(*base, reason=f"more than {len(LETTERS)} options: no letter for each")
    prompt = adapter.render(fill(template, item["question"], options if readout == "letter" else ()))
    targets: list[tuple[int, ...]]
    try:
        if readout == "letter":
            targets = [(token,) for token in adapter.letter_ids(prompt, len(options))]
        else:
            targets = [tuple(adapter.answer_ids(prompt, option)) for option in options]
    except PromptError as error:
        return Question(*base, reason=str(error))
    return Question(*base, prompt, tuple(targets))


def rows(adapter: Adapter, question: Question, image: Image.Image) -> list[tuple[Row, list[int]]]:
    """The sequences to run for one question about one image, each with the options that are read from it.

    A token's probability is read where it is predicted, so an option's last token is never fed in, and options that
    are one token each (or differ in their last token only) share a sequence.

    Raises:
        PromptError: this image cannot be shown to this model.
    """
    ids = adapter.encode(question.prompt, image)
    options = defaultdict(list)
    for number, target in enumerate(question.targets):
        options[target[:-1]].append(number)
    # Options follow the prompt as decided jointly with its end; the image tokens stand further to the front.
    return [
        (Row(torch.cat([ids, ids.new_tensor(given)]), 0, len(given) + 1), numbers) for given, numbers in options.items()
    ]
