"""The effects of one model on one operation's items, batch by batch, so that a killed job loses at most one batch."""

import io
import itertools
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from PIL import Image
from tqdm import tqdm

from vlmdx.mechanism import bridge, reference
from vlmdx.mechanism import engine as fast
from vlmdx.mechanism.grounding import SetAside
from vlmdx.mechanism.prepare import Prepared, content, prepare
from vlmdx.mechanism.proof import prove_knockout
from vlmdx.mechanism.sample import IDENTITY_ANSWER, IDENTITY_OBJECT, KINDS, MLP_ANSWER, Sample, Spec, all_layers
from vlmdx.mechanism.tables import PARTS
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Rule
from vlmdx.models.tokens import PromptError
from vlmdx.schema import read_table, write_table
from vlmdx.scoring.readout import choose, log_softmax

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
    """
    contents = {item["item_id"]: content(item, images[item["image_id"]]) for item in items}
    tables = [read_table(path, PARTS) for path in sorted(parts.glob("[!.]*.parquet"))]
    done = {
        pair for table in tables for pair in zip(*(table[c].to_pylist() for c in ("item_id", "content")), strict=True)
    }
    todo = {item["item_id"] for item in items if (item["item_id"], contents[item["item_id"]]) not in done}
    proved = False
    with tqdm(total=len(items), initial=len(items) - len(todo), desc="effects", unit="item") as bar:
        for chunk in (items[first : first + CHUNK] for first in range(0, len(items), CHUNK)):
            if not any(item["item_id"] in todo for item in chunk):
                continue
            ready, aside = _prepared(adapter, chunk, images, template, rule, seed)
            aside = [row for row in aside if row["item_id"] in todo]
            # Batches are cut from finished items too: a job that was killed goes on with the batches of one that was
            # not, and so with the same numbers to the last bit.
            batches = [[item for item in b if item.item_id in todo] for b in _batches(ready, batch_tokens)]
            if not proved and any(batches):
                prove_knockout(adapter, ready[0].samples[0])
                proved = True
            work = (_effects(adapter, batch, engine, batch_tokens, window, controls) for batch in batches if batch)
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
) -> tuple[list[Prepared], list[Row]]:
    ready, aside = [], []
    for item in items:
        try:
            image = Image.open(io.BytesIO(images[item["image_id"]])).convert("RGB")
            ready.append(prepare(adapter, item, image, template, rule, seed))
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
    adapter: Adapter, batch: Sequence[Prepared], engine: Engine, batch_tokens: int, window: int, controls: bool
) -> list[Row]:
    """Rows of one batch of items."""
    layers = len(adapter.decoder_layers)
    specs = all_layers(KINDS, layers, window)
    specs += [Spec(IDENTITY_OBJECT, 0), Spec(IDENTITY_ANSWER, 0)] if controls else []
    real = [(item, branch, sample) for item in batch for branch, sample in enumerate(item.samples)]
    rows = _rows(adapter, real, specs, "object", engine, batch_tokens)
    random = [(i, branch, sample) for i in batch for branch, sample in enumerate(i.random) if sample is not None]
    if controls and random:
        specs = all_layers(tuple(kind for kind in KINDS if kind != MLP_ANSWER), layers, window)
        rows += _rows(adapter, random, specs, "random", engine, batch_tokens)
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
) -> list[Row]:
    found = ENGINES[engine](adapter, [sample for _, _, sample in samples], specs, batch_tokens)
    rows = []
    for place, (item, branch, _) in enumerate(samples):
        prob = np.exp(log_softmax(found.letters[place].double().numpy())).astype(np.float32)
        correct = choose(item.item_id, item.options, prob)[0] == item.answer
        clean = float(found.clean[place])
        for spec, logprob in zip(specs, found.logprob[:, place].tolist(), strict=True):
            rows.append(
                {
                    "item_id": item.item_id,
                    "role": role,
                    "branch": branch,
                    "intervention": spec.kind[0],
                    "position": spec.kind[1],
                    "layer": spec.layer,
                    "logprob_clean": clean,
                    "logprob": logprob,
                    "correct": correct,
                    "reason": None,
                }
            )
    return rows
