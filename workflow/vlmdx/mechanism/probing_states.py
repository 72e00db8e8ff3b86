"""What every layer holds at the answer position, for the three forms of each question."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.tokens import PromptError
from vlmdx.scoring.question import ask

FORMS = ("clean", "sensitive", "insensitive")  # the three questions of a row of word pairs
Floats = NDArray[np.float32]
Pair = Mapping[str, Any]
Encoded = tuple[Pair, list[Tensor]]  # a pair and the token ids of its three prompts


def pair_states(
    adapter: Adapter,
    pairs: Sequence[Pair],
    items: Mapping[str, Mapping[str, Any]],
    images: Mapping[str, bytes],
    template: str,
    batch_tokens: int,
) -> tuple[list[Pair], Floats, list[tuple[str, str]]]:
    """States of all pairs.

    Args:
        adapter: the model.
        pairs: rows of word pairs.
        items: row of the item table by item id; the options stay as they are.
        images: encoded image by image id.
        template: text of the prompt file.
        batch_tokens: rows x longest row of a pass.

    Returns:
        The pairs that could be shown to this model in their own order, their states (float32 [layers, pairs, 3, width],
        forms in the order of :data:`FORMS`), and (item_id, reason) of the others.
    """
    ready, aside, found = [], [], {}
    for pair in pairs:
        try:
            ready.append((pair, _prompts(adapter, pair, items[pair["item_id"]], images[pair["image_id"]], template)))
        except PromptError as error:
            aside.append((pair["item_id"], str(error)))
    with tqdm(total=len(ready), desc="states", unit="pair") as bar:
        for batch in _batches(ready, batch_tokens):
            shown = [_picture(images[pair["image_id"]]) for pair, _ in batch]
            rows = [Row(ids, place) for place, (_, forms) in enumerate(batch) for ids in forms]
            states = answer_states(adapter, rows, shown)
            states = states.reshape(len(states), len(batch), len(FORMS), -1)
            for place, (pair, _) in enumerate(batch):
                if np.isfinite(states[:, place]).all():
                    found[pair["item_id"]] = states[:, place]
                else:
                    aside.append((pair["item_id"], "non-finite states"))
            bar.update(len(batch))
    kept = [pair for pair in pairs if pair["item_id"] in found]
    stacked = np.stack([found[pair["item_id"]] for pair in kept], 1) if kept else np.zeros((0, 0, 3, 0), np.float32)
    return kept, stacked, sorted(aside)


@torch.inference_mode()
def answer_states(adapter: Adapter, rows: Sequence[Row], images: Sequence[Any]) -> Floats:
    """Output of every decoder layer at the last position of each row: float32 [layers, rows, width].

    Args:
        adapter: the model.
        rows: one batch, any lengths.
        images: the images that the rows refer to.
    """
    mask = adapter.text_inputs(rows)["attention_mask"]
    last = mask.shape[1] - 1 - mask.flip(-1).argmax(-1)
    seen: list[Tensor] = []

    def watch(module: torch.nn.Module, args: tuple, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        seen.append(hidden[torch.arange(len(rows), device=hidden.device), last.to(hidden.device)].float().cpu())

    handles = [layer.register_forward_hook(watch) for layer in adapter.decoder_layers]
    try:
        adapter.logits(rows, images)
    finally:
        for handle in handles:
            handle.remove()
    if len(seen) != len(adapter.decoder_layers):
        raise RuntimeError(
            f"{adapter.source}: {len(seen)} layer outputs of {len(adapter.decoder_layers)} decoder layers"
        )
    return torch.stack(seen).numpy()


def _prompts(adapter: Adapter, pair: Pair, item: Mapping[str, Any], image: bytes, template: str) -> list[Tensor]:
    """Token ids of the three forms.

    Raises:
        PromptError: one of them cannot be shown to this model.
    """
    prompts = []
    for form in FORMS:
        question = ask(adapter, {**item, "question": pair[form]}, "letter", template)
        if question.reason:
            raise PromptError(question.reason)
        prompts.append(adapter.encode(question.prompt, _picture(image)))
    return prompts


def _picture(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def _batches(ready: Sequence[Encoded], batch_tokens: int) -> Iterator[list[Encoded]]:
    """Pairs of like length together; the three forms of a pair stay in one batch."""
    batch: list[Encoded] = []
    for encoded in sorted(ready, key=lambda e: (_longest(e), e[0]["item_id"])):
        if batch and len(FORMS) * (len(batch) + 1) * _longest(encoded) > batch_tokens:
            yield batch
            batch = []
        batch.append(encoded)
    if batch:
        yield batch


def _longest(encoded: Encoded) -> int:
    return max(len(ids) for ids in encoded[1])
