"""A model whose logits are given: all scoring logic is tested without weights."""

from collections.abc import Callable, Sequence

import torch
from PIL import Image
from vlmdx.models.adapter import Row
from vlmdx.models.prompts import LETTERS
from vlmdx.models.tokens import PromptError

IMAGE = 26  # ids 0 to 25 are the letters, words follow
VOCABULARY = 64
PROMPTS = 1000  # ids from here on stand for whole prompts

Logits = Callable[[str, Image.Image, list[int]], torch.Tensor]


class Stub:
    """Adapter of no model.

    Args:
        logits: (prompt, image, ids of the answer so far) -> float [VOCABULARY].
    """

    separator = ""

    def __init__(self, logits: Logits):
        self.given = logits
        self.prompts: list[str] = []
        self.words: list[str] = []
        self.calls: list[list[tuple[str, int]]] = []  # per forward pass: (prompt, image's width)

    def describe(self) -> dict:
        return {"family": "stub"}

    def render(self, text: str) -> str:
        return text

    def encode_text(self, text: str) -> list[int]:
        return [0] * len(text)

    def letter_ids(self, prompt: str, n_options: int) -> list[int]:
        return list(range(n_options))

    def answer_ids(self, prompt: str, answer: str) -> list[int]:
        self.words += [word for word in answer.split() if word not in self.words]
        return [IMAGE + 1 + self.words.index(word) for word in answer.split()]

    def encode(self, prompt: str, image: Image.Image) -> torch.Tensor:
        if "REFUSE" in prompt:
            raise PromptError("this prompt is refused")
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        return torch.tensor([IMAGE, IMAGE, PROMPTS + self.prompts.index(prompt)])

    def image_tokens(self, ids: torch.Tensor) -> list[int]:
        return (ids == IMAGE).sum(-1).tolist()

    def logits(self, rows: Sequence[Row], images: Sequence[Image.Image]) -> torch.Tensor:
        self.calls.append([(self.prompts[int(row.ids[2]) - PROMPTS], images[row.image].width) for row in rows])
        out = torch.zeros(len(rows), max(row.keep for row in rows), VOCABULARY)
        for i, row in enumerate(rows):
            prompt, given = self.prompts[int(row.ids[2]) - PROMPTS], row.ids[3:].tolist()
            for k in range(row.keep):
                out[i, k] = self.given(prompt, images[row.image], given[: len(given) - row.keep + 1 + k])
        return out.float()


def letters(**values: float) -> torch.Tensor:
    """Logits that are 0 but for the named letters."""
    out = torch.zeros(VOCABULARY)
    for letter, value in values.items():
        out[LETTERS.index(letter)] = value
    return out


def item(item_id: str, options: Sequence[str], answer: int | None = 0, image_id: str | None = None, question="?"):
    """A row of the item table."""
    return {
        "item_id": item_id,
        "dataset": "d",
        "image_id": image_id or f"{item_id}.png",
        "question": question,
        "options": list(options),
        "answer": answer,
        "category": None,
        "operation": None,
        "program": None,
        "objects": None,
    }
