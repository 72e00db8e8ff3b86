"""Score all questions on one version (corruption, severity) of their images."""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image
from torch import Tensor

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.tokens import PromptError
from vlmdx.scoring.question import Question, Readout, rows
from vlmdx.scoring.readout import columns_of, failed_rows, pick, score_rows

# Positions x vocabulary x 4 bytes: 512 positions of a vocabulary of 152,000 are 311 MB of float32 logits.
MAX_POSITIONS = 512


@dataclass(frozen=True)
class Run:
    """One sequence of a question, and the options that are read from it."""

    question: Question
    options: list[int]
    row: Row


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
    done: dict[str, list[dict[str, Any]]] = {}
    for chunk in chunks:
        images = {name: open_image(name, data) for name, data in chunk.items() if name in asked}
        groups = []
        for image_id, image in images.items():
            group = []
            for question in asked[image_id]:
                try:
                    group += runs(adapter, question, image)
                except PromptError as error:
                    done[question.item_id] = failed_rows(question, corruption, severity, None, str(error))
            groups.append(group)
        read: dict[str, dict[int, Any]] = defaultdict(dict)
        for batch in batches(groups, batch_tokens):
            output = forward(adapter, batch, images)
            for run, logits, normaliser in zip(batch, output, output.logsumexp(-1), strict=True):
                question, found = run.question, read[run.question.item_id]
                found |= {k: pick(logits, normaliser, question.targets[k]) for k in run.options}
                if len(found) == len(question.options):
                    columns = columns_of([found[k] for k in sorted(found)], readout)
                    tokens = adapter.image_tokens(run.row.ids[None])[0]
                    done[question.item_id] = score_rows(question, corruption, severity, tokens, columns)
    absent = "image is not in the corrupted shard"
    return [
        row
        for question in questions
        for row in done.get(question.item_id) or failed_rows(question, corruption, severity, None, absent)
    ]


def runs(adapter: Adapter, question: Question, image: Image.Image) -> list[Run]:
    """What to run for one question about one image.

    Raises:
        PromptError: this question or image cannot be shown to this model.
    """
    if question.reason:
        raise PromptError(question.reason)
    return [Run(question, options, row) for row, options in rows(adapter, question, image)]


def batches(groups: list[list[Run]], batch_tokens: int) -> Iterator[list[Run]]:
    """Cut into batches of at most ``batch_tokens`` padded tokens, in an order that depends on the sequences only.

    Sequences about one image stay together, so that it passes the vision tower once; images go by their longest
    sequence, so that little is padded.
    """
    for group in groups:
        group.sort(key=lambda run: (len(run.row.ids), run.question.item_id, run.options))
    filled = sorted((g for g in groups if g), key=lambda g: (len(g[-1].row.ids), g[0].question.image_id))
    batch: list[Run] = []
    longest = kept = 0
    for run in (run for group in filled for run in group):
        longest, kept = max(longest, len(run.row.ids)), max(kept, run.row.keep)
        if batch and ((len(batch) + 1) * longest > batch_tokens or (len(batch) + 1) * kept > MAX_POSITIONS):
            yield batch
            batch, longest, kept = [], len(run.row.ids), run.row.keep
        batch.append(run)
    if batch:
        yield batch


def forward(adapter: Adapter, batch: list[Run], images: Mapping[str, Image.Image]) -> Tensor:
    """float32 logits of a batch, [sequences, positions, vocabulary]; its images are decoded here."""
    names = list(dict.fromkeys(run.question.image_id for run in batch))
    rows_ = [replace(run.row, image=names.index(run.question.image_id)) for run in batch]
    return adapter.logits(rows_, [images[name].convert("RGB") for name in names])


def open_image(image_id: str, data: bytes) -> Image.Image:
    """Open (not yet decode) one image of the shard.

    Raises:
        ValueError: the bytes are no image.
    """
    try:
        return Image.open(io.BytesIO(data))
    except OSError as error:
        raise ValueError(f"image {image_id!r} of the corrupted shard cannot be opened: {error}") from error
