"""Samples of ragged lengths for the tiny models."""

from pathlib import Path

import torch
from vlmdx.mechanism.sample import Sample
from vlmdx.models.load import load

from tests.models import tiny, tiny_families

FAMILIES = ("qwen", "qwen3_vl", "llava", "idefics3")
SIZES = [(196, 112), (112, 196), (84, 84), (140, 140)]


def open_tiny(name: str, folder: Path, layers: int = 3, heads: tuple[int, int] | None = None, attention="sdpa"):
    """Adapter of a tiny random model, by family."""
    builder = tiny if name in ("qwen", "llava") else tiny_families
    text = {"num_hidden_layers": layers}
    if heads:
        text |= {"num_attention_heads": heads[0], "num_key_value_heads": heads[1]}
    before = dict(builder.TEXT), dict(tiny_families.SMALL_TEXT)
    try:
        tiny.TEXT.update(text)
        tiny_families.SMALL_TEXT.update(text)
        return load(str(builder.build(name, folder)), device="cpu", attention=attention)
    finally:
        tiny.TEXT.clear()
        tiny.TEXT.update(before[0])
        tiny_families.SMALL_TEXT.clear()
        tiny_families.SMALL_TEXT.update(before[1])


def make(adapter, place: str, words: int, size=(140, 140), seed: int = 0, more: tuple[int, ...] = ()) -> Sample:
    """A sample whose grounding set is the start, middle or end of the image, whole, one token or none.

    ``more`` are the gold answer's tokens after the first.
    """
    image = tiny.picture(*size, seed=seed)
    prompt = adapter.render("Answer with the option " * words)
    ids = adapter.encode(prompt, image)
    vision = (ids == adapter.image_token_id).nonzero()[:, 0].tolist()
    third = max(1, len(vision) // 3)
    cut = {
        "start": vision[:third],
        "middle": vision[third : 2 * third : 2],
        "end": vision[-third:],
        "whole": vision,
        "one": vision[third : third + 1],
        "none": [],
    }[place]
    letters = (20, 21, 22, 23)  # any ids will do with random weights
    return Sample(ids, image, letters[seed % 4], letters, tuple(vision), tuple(cut), more)


def ragged(adapter, gold=(1, 1, 1, 1, 1)) -> list[Sample]:
    """Five samples of different lengths and grounding sets, with gold answers of so many tokens."""
    plan = zip(("start", "middle", "end", "one", "whole"), (1, 7, 3, 12, 2), [*SIZES, SIZES[0]], gold, strict=True)
    return [
        make(adapter, place, words, size, seed, tuple(range(24, 23 + count)))
        for seed, (place, words, size, count) in enumerate(plan)
    ]


def gap(first: torch.Tensor, second: torch.Tensor) -> float:
    """Largest absolute difference."""
    assert first.shape == second.shape
    return (first - second).abs().max().item()
