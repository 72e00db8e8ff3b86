"""The file of embeddings: one row per item of the pool, with the item ids in the file's metadata."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from vlmdx.images import from_png
from vlmdx.schema import ContractError, atomic, read_table
from vlmdx.schema.io import FOOTER_KEY
from vlmdx.schema.names import CLEAN
from vlmdx.schema.tables import CORRUPTED


def clean_images(path: str | os.PathLike, wanted: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (image id, uint8 [height, width, 3]) for the wanted images of a clean shard, in the order of the file.

    Raises:
        ContractError: a wanted image is missing, or the shard is not the clean one.
    """
    found = read_table(path, CORRUPTED, columns=["image_id", "corruption"])
    if set(found["corruption"].to_pylist()) - {CLEAN}:
        raise ContractError(f"{path}: images are embedded from the clean shard, this one holds corrupted images")
    ids = set(wanted)
    if missing := sorted(ids - set(found["image_id"].to_pylist())):
        raise ContractError(
            f"{path}: image {missing[0]} and {len(missing) - 1} more of the pool are missing; corrupt again"
        )
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=16, columns=["image_id", "image"]):
            for row in batch.to_pylist():
                if row["image_id"] in ids:
                    yield row["image_id"], from_png(row["image"]["bytes"])


def write_embeddings(
    path: str | os.PathLike,
    item_ids: Sequence[str],
    image: np.ndarray,
    text: np.ndarray,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write ``image`` [n, d] and ``text`` [n, d'], float32, as safetensors.

    The metadata has one entry, ``vlmdx``: JSON of ``item_id``, the n ids, and ``provenance``. One entry, because
    safetensors writes several in a random order, and equal embeddings should be equal files.
    """
    if not len(item_ids) == len(image) == len(text):
        raise ValueError(f"{path}: {len(item_ids)} items, {len(image)} image and {len(text)} text embeddings")
    tensors = {"image": np.ascontiguousarray(image, np.float32), "text": np.ascontiguousarray(text, np.float32)}
    record = json.dumps({"item_id": list(item_ids), "provenance": provenance or {}}, sort_keys=True)
    with atomic(path) as temporary:
        save_file(tensors, temporary, metadata={FOOTER_KEY.decode(): record})


def read_embeddings(path: str | os.PathLike, items: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Image and text embeddings, float32, in the order of ``items``.

    Raises:
        ContractError: the file is unreadable, or was made for another pool.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            ids = json.loads(file.metadata()[FOOTER_KEY.decode()])["item_id"]
            image, text = file.get_tensor("image"), file.get_tensor("text")
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise ContractError(f"{path}: not a readable file of embeddings ({error}); remove it and run again") from error
    row = {item: number for number, item in enumerate(ids)}
    wanted = items["item_id"].to_pylist()
    if set(row) != set(wanted) or len(row) != len(ids):
        example = sorted(set(row) ^ set(wanted))[:1] or ["a repeated id"]
        raise ContractError(f"{path}: made for another pool, e.g. {example[0]}; remove it and run again")
    order = [row[item] for item in wanted]
    return image[order], text[order]
