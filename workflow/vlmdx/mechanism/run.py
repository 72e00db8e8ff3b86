"""The effects of one model on one operation's items, batch by batch, so that a killed job loses at most one batch."""

import hashlib
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from PIL import Image
from tqdm import tqdm

from vlmdx.mechanism import engine as fast
from vlmdx.mechanism import reference
from vlmdx.mechanism.grounding import SetAside
from vlmdx.mechanism.prepare import Prepared, prepare
from vlmdx.mechanism.proof import prove_knockout
from vlmdx.mechanism.sample import (
    IDENTITY_ANSWER,
    IDENTITY_OBJECT,
    KINDS,
    MLP_ANSWER,
    Result,
    Sample,
    Spec,
    all_layers,
)
from vlmdx.mechanism.tables import PARTS
from vlmdx.models.adapter import Adapter
from vlmdx.models.geometry import Rule
from vlmdx.models.tokens import PromptError
from vlmdx.schema import read_table, write_table
from vlmdx.scoring.readout import choose, log_softmax

Engine = Literal["fast", "reference"]
ENGINES = {"fast": fast.effects, "reference": reference.effects}
CHUNK = 64  # items whose images are in memory at once
Row = dict[str, Any]


def run(
    adapter: Adapter,
    items: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    folder: Path,
    *,
    template: str,
    rule: Rule,
    engine: Engine,
    batch_tokens: int,
    window: int,
    controls: bool,
    seed: int,
    digest: str,
) -> pa.Table:
    """All rows of ``items``, in the form of :data:`PARTS`, from finished parts and from new ones.

    Args:
        adapter: the model.
        items: rows of the item table.
        images: encoded image by image id.
        folder: where finished parts stand, under a name that holds a digest of all they depend on.
        template: text of the prompt file.
        rule: which grid cells belong to a box.
        engine: fast, or reference (one forward pass per intervention and layer).
        batch_tokens: rows x longest row of a clean pass, and positions that run through a layer at once.
        window: how many layers in a row an intervention acts on.
        controls: also random tokens outside the object, and the identity intervention.
        seed: of the random tokens.
        digest: of code and settings.

    Raises:
        ValueError: not one item could be intervened on.
    """
    identity = [digest, template, rule, engine, window, controls, seed, adapter.describe()]
    key = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
    parts = folder / f".parts-{key}"
    known = {}  # content of an item, so that an edited item is computed again
    for item in items:
        content = [item, hashlib.sha256(images[item["image_id"]]).hexdigest()]
        known[item["item_id"]] = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:16]
    tables = [read_table(path, PARTS) for path in sorted(parts.glob("*.parquet"))]
    done = {part for path in parts.glob("*.json") for part in json.loads(path.read_text())}
    todo = [item for item in items if f"{item['item_id']}\0{known[item['item_id']]}" not in done]
    proved = False
    with tqdm(total=len(items), initial=len(items) - len(todo), desc="effects", unit="item") as bar:
        for chunk in (todo[first : first + CHUNK] for first in range(0, len(todo), CHUNK)):
            ready: list[Prepared] = []
            rows: list[Row] = []
            for item in chunk:
                try:
                    image = Image.open(io.BytesIO(images[item["image_id"]])).convert("RGB")
                    ready.append(prepare(adapter, item, image, template, rule, seed))
                except (SetAside, PromptError) as error:
                    rows.append(_aside(item["item_id"], str(error)))
            if ready and not proved:
                prove_knockout(adapter, ready[0].samples[0])
                proved = True
            for batch in [[], *_batches(ready, batch_tokens)]:
                for item in batch:
                    rows += []
                rows += _effects(adapter, batch, engine, batch_tokens, window, controls) if batch else []
                if rows:
                    tables.append(_keep(parts, rows, known))
                    bar.update(len({row["item_id"] for row in rows}))
                rows = []
    table = pa.concat_tables(tables)
    wanted = pa.array([item["item_id"] for item in items])
    return table.filter(pa.compute.is_in(table["item_id"], wanted))
