"""Greedy generation by any adapter: what answerer and model verifier say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor
from tqdm import tqdm
from transformers import LogitsProcessor

from vlmdx.discovery.decode import check_length, decode
from vlmdx.discovery.sample import end_ids
from vlmdx.models.adapter import Adapter

QUIET_BELOW = 64  # so few prompts take no progress bar


@dataclass(frozen=True)
class Generated:
    """One reply.

    Attributes:
        text: without special tokens, stripped.
        logprob: sum over its tokens, the end token not included, of the log-probability in the whole vocabulary, nats.
        tokens: how many, the end token not included.
        finished: it ended by an end token; False if it was cut off at the limit.
    """

    text: str
    logprob: float
    tokens: int
    finished: bool


def generate(
    adapter: Adapter,
    prompts: Sequence[str],
    images: Sequence[Image.Image],
    max_tokens: int,
    batch_tokens: int,
    desc: str = "generate",
) -> list[Generated]:
    """Each prompt's likeliest reply, token by token; the same whatever else is in the list (in float32).

    Args:
        prompts: texts of the user turn, n; never cut.
        images: RGB, one per prompt.
        max_tokens: most tokens of a reply.
        batch_tokens: rows x (longest prompt + reply) of one batch.
        desc: name of the progress bar.

    Returns:
        n replies in order.

    Raises:
        PromptError: a prompt or image that this model cannot be shown.
        ValueError: the model's logits are not numbers.
    """
    rows = [adapter.encode(adapter.render(prompt), image) for prompt, image in zip(prompts, images, strict=True)]
    lengths = [len(ids) + max_tokens for ids in rows]
    if rows:
        check_length(adapter, max(lengths))
    found: dict[int, Generated] = {}
    with tqdm(total=len(prompts), desc=desc, unit="reply", disable=len(prompts) < QUIET_BELOW) as bar:
        for batch in _batches(lengths, batch_tokens):
            made = _generate(adapter, [rows[i] for i in batch], [images[i] for i in batch], max_tokens)
            found |= dict(zip(batch, made, strict=True))
            bar.update(len(batch))
    return [found[i] for i in range(len(prompts))]


def _batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices by length, so that little is padded, cut at ``batch_tokens``."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


@torch.inference_mode()
def _generate(
    adapter: Adapter, prompts: Sequence[Tensor], images: Sequence[Image.Image], max_tokens: int
) -> list[Generated]:
    """Replies to encoded prompts, one batch; each picture passes the vision tower once."""
    tokenizer, ends, greedy = adapter.processor.tokenizer, end_ids(adapter), Greedy()
    replies = decode(adapter, adapter.model, prompts, images, ends, max_tokens, greedy)
    logprobs = torch.stack(greedy.logprobs, dim=1).tolist()
    found = []
    for row, values in zip(replies, logprobs, strict=True):
        stop = next((place for place, token in enumerate(row) if token in ends), len(row))
        said = tokenizer.decode(row[:stop], skip_special_tokens=True).strip()
        found.append(Generated(said, sum(values[:stop]), stop, stop < len(row)))
    return found


class Greedy(LogitsProcessor):
    """Notes the log-probability of each row's likeliest token, which is the one that is taken."""

    def __init__(self) -> None:
        self.logprobs: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # type: ignore[override]
        """``scores`` float [rows, vocabulary], returned as they are."""
        if not torch.isfinite(scores.amax(-1)).all():
            raise ValueError("the model's logits are not numbers; load it with `dtype: float32` or bfloat16")
        self.logprobs.append(scores.float().log_softmax(-1).amax(-1))
        return scores
