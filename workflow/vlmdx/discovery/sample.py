"""Sampling that depends on nothing but weights, prompt, image and seed.

Every question has a seed of its own, so that it comes out the same whatever else is in its batch, and a stored
``sample_seed`` is enough to draw it again. One uniform number per token is turned into a token by inverting the
distribution function; the model's own `generate` does the rest (prefill, cache, positions, stopping).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from transformers import LogitsProcessor

from vlmdx.discovery.decode import decode
from vlmdx.discovery.prompts import clean_question
from vlmdx.models.adapter import Adapter


@dataclass(frozen=True)
class Sampled:
    """One question as drawn.

    Attributes:
        text: without special tokens, cleaned (`prompts.clean_question`).
        logprob: sum over its tokens, the end token included, of the log-probability under the distribution that was
            sampled from (at the sampling temperature, without the banned tokens), nats; None where another sampler
            drew it.
        tokens: how many, the end token included.
        finished: it ended by an end token; False if it was cut off at the limit.
        ids: its token ids.
    """

    text: str
    logprob: float | None
    tokens: int
    finished: bool
    ids: tuple[int, ...] = ()


def seed_of(*parts: str | int) -> int:
    """A 63-bit seed that is a function of ``parts`` alone."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def question_seed(seed: int, step: int, image_id: str, turn: int, sample: int) -> int:
    """Seed of one question of a run; step 0 is the held-out phase."""
    return seed_of(seed, step, image_id, turn, sample)


def end_ids(adapter: Adapter) -> list[int]:
    """All ids that end a question: those of the generation config, the tokenizer's, the chat template's end of turn.

    Knowing only one of several makes ended questions count as cut off (huggingface/trl#7039).
    """
    declared = adapter.model.generation_config.eos_token_id
    known = [adapter.processor.tokenizer.eos_token_id, *(declared if isinstance(declared, list) else [declared])]
    return sorted({token for token in (*known, turn_end(adapter)) if token is not None})


def turn_end(adapter: Adapter) -> int:
    """The special token that the chat template puts after an answer; the tokenizer's end token where it puts none.

    Raises:
        ValueError: there is neither.
    """
    tokenizer = adapter.processor.tokenizer
    if adapter.processor.chat_template:  # PaliGemma has none, and ends by its tokenizer's end token
        rest = adapter.render_answer("?", "ANSWER").rpartition("ANSWER")[2]
        first = tokenizer(rest, add_special_tokens=False)["input_ids"][:1]
        if first and first[0] in _special(tokenizer):
            return first[0]
    if tokenizer.eos_token_id is None:
        raise ValueError(f"{adapter.source}: no token ends an answer, neither in its chat template nor its tokenizer")
    return tokenizer.eos_token_id


def banned_ids(adapter: Adapter) -> list[int]:
    """Ids that no question may hold: special tokens that end nothing, image placeholders above all, and unused ids.

    An image token in a completion has no image behind it; the next forward pass dies of it (huggingface/trl#3847).
    """
    config = adapter.model.config
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    vision = {getattr(config, name) for name in names if getattr(config, name, None) is not None}
    tokenizer = adapter.processor.tokenizer
    vocabulary = config.get_text_config().vocab_size  # often rounded up
    unused = range(len(tokenizer), vocabulary)
    return sorted(
        {token for token in (*vision, *_special(tokenizer), *unused) if token < vocabulary} - set(end_ids(adapter))
    )


def _special(tokenizer: Any) -> set[int]:
    marked = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    return marked | set(tokenizer.all_special_ids)


def ask(
    adapter: Adapter,
    prompts: Sequence[str],
    images: Sequence[Image.Image],
    seeds: Sequence[int],
    temperature: float,
    max_tokens: int,
    batch_size: int = 32,
) -> list[Sampled]:
    """Draw one completion per (prompt, image, seed).

    Args:
        adapter: the policy.
        prompts: texts of the user turn, n; never cut.
        images: RGB, one per prompt; rows of equal images share one pass of the vision tower.
        seeds: 63-bit, one per prompt.
        temperature: > 0.
        max_tokens: most tokens of a completion, the end token included.
        batch_size: rows per forward pass; of no influence on the result.

    Returns:
        n completions in order.

    Raises:
        PromptError: a prompt with its completion would be longer than the model's context, or has no image tokens.
        ValueError: the model's logits are not numbers.
    """
    found: list[Sampled] = []
    for start in range(0, len(prompts), batch_size):
        part = slice(start, start + batch_size)
        found += draw(adapter, adapter.model, prompts[part], images[part], seeds[part], temperature, max_tokens)
    return found


@torch.no_grad()
def draw(
    adapter: Adapter,
    model: Any,
    prompts: Sequence[str],
    images: Sequence[Image.Image],
    seeds: Sequence[int],
    temperature: float,
    max_tokens: int,
) -> list[Sampled]:
    """One batch of :func:`ask`, drawn from ``model``: the adapter's own, or a wrapper of it."""
    encoded = [adapter.encode(adapter.render(prompt), image) for prompt, image in zip(prompts, images, strict=True)]
    ends, tokenizer = end_ids(adapter), adapter.processor.tokenizer
    choose = Choice(seeds, temperature, max_tokens, banned_ids(adapter))  # leaves one token per row
    completions = decode(adapter, model, encoded, images, ends, max_tokens, choose)
    logprobs = torch.stack(choose.logprobs, dim=1).tolist()
    found = []
    for row, values in zip(completions, logprobs, strict=True):
        stop = next((place for place, token in enumerate(row) if token in ends), None)
        ids = row if stop is None else row[: stop + 1]
        said = clean_question(tokenizer.decode(ids, skip_special_tokens=True))
        found.append(Sampled(said, sum(values[: len(ids)]), len(ids), stop is not None, tuple(ids)))
    return found


class Choice(LogitsProcessor):
    """Leaves one token per row, drawn by the row's own stream of uniform numbers; always the last processor to run."""

    def __init__(self, seeds: Sequence[int], temperature: float, max_tokens: int, banned: Sequence[int]):
        streams = [torch.Generator().manual_seed(seed) for seed in seeds]
        # On the CPU, so that a seed means the same numbers on every device.
        self.uniform = torch.stack([torch.rand(max_tokens, generator=s, dtype=torch.float64) for s in streams])
        self.temperature, self.banned = temperature, list(banned)
        self.logprobs: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # type: ignore[override]
        """``scores`` float [rows, vocabulary] -> 0 at the chosen token, -inf elsewhere."""
        scores = scores.float() / self.temperature
        scores[:, self.banned] = -torch.inf
        if not torch.isfinite(scores.amax(-1)).all():
            raise ValueError("the questioner's logits are not numbers; lower the learning rate or use float32")
        # Metal has no float64; everywhere else the tail of a large vocabulary is summed in it.
        exact = torch.float32 if scores.device.type == "mps" else torch.float64
        logprobs = scores.to(exact).log_softmax(-1)
        below = logprobs.exp().cumsum(-1)
        drawn = self.uniform[:, len(self.logprobs), None].to(below) * below[:, -1:]
        # A token of probability 0 spans no interval, so it is never the first one whose sum exceeds the number.
        chosen = (below <= drawn).sum(-1, keepdim=True).clamp(max=scores.shape[1] - 1)
        self.logprobs.append(logprobs.gather(-1, chosen)[:, 0].float())
        return torch.full_like(scores, -torch.inf).scatter_(-1, chosen, 0.0)
