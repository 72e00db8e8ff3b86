"""The effects of one model on one operation's items, batch by batch, so that a killed job loses at most one batch."""

import io
import itertools
import math
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from vlmdx.mechanism import bridge, reference
from vlmdx.mechanism import engine as fast
from vlmdx.mechanism.grounding import SetAside
from vlmdx.mechanism.prepare import Prepared, content, prepare
from vlmdx.mechanism.proof import prove_knockout
from vlmdx.mechanism.sample import (
    ATTENTION_KNOCKOUT,
    HEAD_KNOCKOUT,
    IDENTITY_ANSWER,
    IDENTITY_OBJECT,
    KINDS,
    MLP_ANSWER,
    Sample,
    Spec,
    all_layers,
)
from vlmdx.mechanism.tables import PARTS
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Rule
from vlmdx.models.tokens import PromptError
from vlmdx.schema import read_table, write_table
from vlmdx.scoring.question import Readout
from vlmdx.scoring.question import rows as sequences
from vlmdx.scoring.readout import choose, columns_of, log_softmax, pick

Engine = Literal["fast", "reference", "bridge"]
ENGINES = {"fast": fast.effects, "reference": reference.effects, "bridge": bridge.effects}
CHUNK = 64  # items whose images are in memory at once
Row = dict[str, Any]


def run(
    adapter: Adapter,
    items: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    parts: Path,
    *,
    template: str,
    rule: Rule,
    engine: Engine,
    batch_tokens: int,
    window: int,
    controls: bool,
    seed: int,
    readout: Readout = "letter",
    head_layers: Sequence[int] = (),
) -> pa.Table:
    """All rows of ``items``, in the form of :data:`PARTS`, from finished parts and from new ones.

    Args:
        adapter: the model.
        items: rows of the item table.
        images: encoded image by image id.
        parts: folder of finished parts; its name must hold a digest of code, settings and model, while items and images
            are told apart by their content.
        template: text of the prompt file.
        rule: which grid cells belong to a box.
        engine: fast; reference (plain hooks) or bridge (transformer-lens): one forward pass per intervention and layer.
        batch_tokens: rows x longest row of a clean pass, and positions that run through a layer at once.
        window: how many layers in a row an intervention acts on.
        controls: also random tokens outside the object, and the identity intervention.
        seed: of the random tokens.
        readout: whether the gold answer is the gold option's letter, read at the last prompt token, or its words, read
            at all positions that predict them.
        head_layers: layers in which each query head's attention is also knocked out by itself.

    Raises:
        ValueError: the model has no such layer.
        EngineError: the model, or its attention implementation, cannot be intervened on.
    """
    if beyond := [layer for layer in head_layers if not 0 <= layer < len(adapter.decoder_layers)]:
        raise ValueError(
            f"head_layers: {adapter.source} has layers 0 to {len(adapter.decoder_layers) - 1}, no layer {beyond[0]}"
        )
    contents = {item["item_id"]: content(item, images[item["image_id"]]) for item in items}
    tables = [read_table(path, PARTS) for path in sorted(parts.glob("[!.]*.parquet"))]
    done = {
        pair for table in tables for pair in zip(*(table[c].to_pylist() for c in ("item_id", "content")), strict=True)
    }
    todo = {item["item_id"] for item in items if (item["item_id"], contents[item["item_id"]]) not in done}
    if len(todo) < len(items):
        print(f"{len(items) - len(todo)} of {len(items)} items were finished before", file=sys.stderr)
    proved = False
    with tqdm(total=len(items), initial=len(items) - len(todo), desc="effects", unit="item") as bar:
        for chunk in (items[first : first + CHUNK] for first in range(0, len(items), CHUNK)):
            if not any(item["item_id"] in todo for item in chunk):
                continue
            ready, aside = _prepared(adapter, chunk, images, template, rule, seed, readout)
            aside = [row for row in aside if row["item_id"] in todo]
            # Batches are cut from finished items too: a job that was killed goes on with the batches of one that was
            # not, and so with the same numbers to the last bit.
            batches = [[item for item in b if item.item_id in todo] for b in _batches(ready, batch_tokens)]
            if not proved and any(batches):
                prove_knockout(adapter, ready[0].samples[0])
                proved = True
            work = (
                _effects(adapter, batch, engine, batch_tokens, window, controls, readout, head_layers)
                for batch in batches
                if batch
            )
            for rows in itertools.chain([aside] if aside else [], work):
                table = pa.Table.from_pylist([{**r, "content": contents[r["item_id"]]} for r in rows], PARTS.schema)
                write_table(parts / f"{uuid.uuid4().hex}.parquet", table, PARTS)
                tables.append(table)
                bar.update(len({row["item_id"] for row in rows}))
    table = pa.concat_tables(tables)
    wanted = [
        contents.get(i) == c for i, c in zip(table["item_id"].to_pylist(), table["content"].to_pylist(), strict=True)
    ]
    return table.filter(pa.array(wanted))


def _prepared(
    adapter: Adapter,
    items: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    template: str,
    rule: Rule,
    seed: int,
    readout: Readout,
) -> tuple[list[Prepared], list[Row]]:
    ready, aside = [], []
    for item in items:
        try:
            image = Image.open(io.BytesIO(images[item["image_id"]])).convert("RGB")
            ready.append(prepare(adapter, item, image, template, rule, seed, readout))
        except (SetAside, PromptError) as error:
            aside.append(_aside(item["item_id"], str(error)))
    return ready, aside


def _aside(item_id: str, reason: str) -> Row:
    place = {"role": "none", "branch": 0, "intervention": "none", "position": "none", "layer": 0}
    return dict.fromkeys(PARTS.schema.names) | place | {"item_id": item_id, "reason": reason}


def _batches(ready: Sequence[Prepared], batch_tokens: int) -> Iterator[list[Prepared]]:
    """Items of like length together; the samples of an item stay in one batch."""
    batch: list[Prepared] = []
    for item in sorted(ready, key=lambda item: (item.length, item.item_id)):
        if batch and sum(len(i.samples) for i in [*batch, item]) * item.length > batch_tokens:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _effects(
    adapter: Adapter,
    batch: Sequence[Prepared],
    engine: Engine,
    batch_tokens: int,
    window: int,
    controls: bool,
    readout: Readout,
    head_layers: Sequence[int],
) -> list[Row]:
    """Rows of one batch of items."""
    layers = len(adapter.decoder_layers)
    heads = [Spec(ATTENTION_KNOCKOUT, layer, 1, (h,)) for layer in head_layers for h in range(_heads(adapter, layer))]
    specs = [*all_layers(KINDS, layers, window), *heads]
    specs += [Spec(IDENTITY_OBJECT, 0), Spec(IDENTITY_ANSWER, 0)] if controls else []
    right = {item.item_id: _right_in_words(adapter, item) for item in batch} if readout == "text" else {}
    real = [(item, branch, sample) for item in batch for branch, sample in enumerate(item.samples)]
    rows = _rows(adapter, real, specs, "object", engine, batch_tokens, right)
    random = [(i, branch, sample) for i in batch for branch, sample in enumerate(i.random) if sample is not None]
    if controls and random:
        specs = [*all_layers(tuple(kind for kind in KINDS if kind != MLP_ANSWER), layers, window), *heads]
        rows += _rows(adapter, random, specs, "random", engine, batch_tokens, right)
    broken = {row["item_id"] for row in rows if not math.isfinite(row["logprob"] - row["logprob_clean"])}
    rows = [row for row in rows if row["item_id"] not in broken]
    return rows + [_aside(item_id, "non-finite log-probabilities") for item_id in sorted(broken)]


def _rows(
    adapter: Adapter,
    samples: Sequence[tuple[Prepared, int, Sample]],
    specs: Sequence[Spec],
    role: str,
    engine: Engine,
    batch_tokens: int,
    right: Mapping[str, bool],
) -> list[Row]:
    """Rows of some samples; ``right`` is known beforehand where it is not read from the letters."""
    found = ENGINES[engine](adapter, [sample for _, _, sample in samples], specs, batch_tokens)
    rows = []
    for place, (item, branch, _) in enumerate(samples):
        correct = right[item.item_id] if right else _right_by_letter(item, found.letters[place])
        clean = float(found.clean[place])
        for spec, logprob in zip(specs, found.logprob[:, place].tolist(), strict=True):
            rows.append(
                {
                    "item_id": item.item_id,
                    "role": role,
                    "branch": branch,
                    "intervention": spec.kind[0] if spec.heads is None else HEAD_KNOCKOUT,
                    "position": spec.kind[1],
                    "layer": spec.layer,
                    "head": None if spec.heads is None else spec.heads[0],
                    "logprob_clean": clean,
                    "logprob": logprob,
                    "correct": correct,
                    "reason": None,
                }
            )
    return rows


def _right_by_letter(item: Prepared, letters: Tensor) -> bool:
    prob = np.exp(log_softmax(letters.double().numpy())).astype(np.float32)
    return choose(item.item_id, item.options, prob)[0] == item.answer


def _right_in_words(adapter: Adapter, item: Prepared) -> bool:
    """Whether the gold option's words are chosen, as the text read-out of the main job does, in a clean pass."""
    image = item.samples[0].image
    found: dict[int, Any] = {}
    asked = sequences(adapter, item.question, image)
    logits = adapter.logits([row for row, _ in asked], [image])
    for (row, options), given in zip(asked, logits, strict=True):
        kept = given[: row.keep]
        found |= {k: pick(kept, kept.logsumexp(-1), item.question.targets[k]) for k in options}
    prob = columns_of([found[k] for k in sorted(found)], "text")["prob"]
    return choose(item.item_id, item.options, np.array(prob, np.float32))[0] == item.answer


def _heads(adapter: Adapter, layer: int) -> int:
    """Query heads of a decoder layer."""
    attention: Any = adapter.decoder_layers[layer].self_attn
    return attention.config.num_attention_heads
