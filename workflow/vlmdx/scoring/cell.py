"""Score all questions on one version (corruption, severity) of their images."""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PIL import Image

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.tokens import PromptError
from vlmdx.scoring.question import Question, Readout, rows
from vlmdx.scoring.readout import failed_rows, read_logits, score_rows

# Positions x vocabulary x 4 bytes: 512 positions of a vocabulary of 152,000 are 311 MB of float32 logits.
MAX_POSITIONS = 512

Sequence_ = tuple[Question, int, Row]  # question, which of its sequences, what to run


def score_cell(
    adapter: Adapter,
    questions: Sequence[Question],
    chunks: Iterable[Mapping[str, bytes]],
    corruption: str,
    severity: int,
    readout: Readout,
    batch_tokens: int,
) -> list[dict[str, Any]]:
    """Rows of all ``questions``, in their order; each has numbers or a reason.

    Args:
        chunks: image_id -> encoded image, in as many pieces as memory asks for.
        batch_tokens: rows x longest row of one forward pass.
    """
    asked = defaultdict(list)
    for question in questions:
        asked[question.image_id].append(question)
    done = {}
    for chunk in chunks:
        images = {name: open_image(name, data) for name, data in chunk.items() if name in asked}
        pending: list[list[Sequence_]] = []
        for image_id, image in images.items():
            group: list[Sequence_] = []
            for question in asked[image_id]:
                try:
                    if question.reason:
                        raise PromptError(question.reason)
                    group += [(question, i, row) for i, row in enumerate(rows(adapter, question, image, 0, readout))]
                except PromptError as error:
                    done[question.item_id] = failed_rows(question, corruption, severity, None, str(error))
            pending.append(group)
        read: dict[str, dict[int, Any]] = defaultdict(dict)
        for batch in batches(pending, batch_tokens):
            for (question, i, row), logits in zip(batch, forward(adapter, batch, images), strict=True):
                read[question.item_id][i] = logits
                if len(read[question.item_id]) == (1 if readout == "letter" else len(question.options)):
                    logits_of = read.pop(question.item_id)
                    columns = read_logits([logits_of[k] for k in sorted(logits_of)], question, readout)
                    tokens = adapter.image_tokens(row.ids[None])[0]
                    done[question.item_id] = score_rows(question, corruption, severity, tokens, columns)
    absent = "image is not in the corrupted shard"
    return [
        row
        for question in questions
        for row in done.get(question.item_id) or failed_rows(question, corruption, severity, None, absent)
    ]


def batches(groups: list[list[Sequence_]], batch_tokens: int) -> Iterator[list[Sequence_]]:
    """Cut into batches of at most ``batch_tokens`` padded tokens, in an order that depends on the sequences only.

    Sequences about one image stay together, so that it passes the vision tower once; images go by their longest
    sequence, so that little is padded.
    """
    for group in groups:
        group.sort(key=lambda s: (len(s[2].ids), s[0].item_id, s[1]))
    ordered = sorted((g for g in groups if g), key=lambda g: (len(g[-1][2].ids), g[0][0].image_id))
    batch: list[Sequence_] = []
    longest = tail = 0
    for sequence in (s for group in ordered for s in group):
        longest, tail = max(longest, len(sequence[2].ids)), max(tail, sequence[2].tail, 1)
        if batch and ((len(batch) + 1) * longest > batch_tokens or (len(batch) + 1) * tail > MAX_POSITIONS):
            yield batch
            batch, longest, tail = [], len(sequence[2].ids), max(sequence[2].tail, 1)
        batch.append(sequence)
    if batch:
        yield batch


def forward(adapter: Adapter, batch: list[Sequence_], images: Mapping[str, Image.Image]):
    """float32 logits of each sequence of ``batch``, [positions, vocabulary]."""
    names = list(dict.fromkeys(question.image_id for question, _, _ in batch))
    run = [replace(row, image=names.index(question.image_id)) for question, _, row in batch]
    return adapter.logits(run, [images[name].convert("RGB") for name in names])


def open_image(image_id: str, data: bytes) -> Image.Image:
    """Open (not yet decode) one image of the shard.

    Raises:
        ValueError: the bytes are no image.
    """
    try:
        return Image.open(io.BytesIO(data))
    except OSError as error:
        raise ValueError(f"image {image_id!r} of the corrupted shard cannot be opened: {error}") from error
