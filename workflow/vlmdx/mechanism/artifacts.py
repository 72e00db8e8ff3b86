"""From parts to the artifacts of an effects job: long tables, layer x sample tensors, and the items set aside."""

import json
import os
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from vlmdx.schema import atomic
from vlmdx.schema.io import FOOTER_KEY
from vlmdx.schema.tables import EFFECTS

KEY = ["item_id", "intervention", "position", "layer", "head"]


def effects_table(parts: pa.Table, operation: str, role: str) -> pa.Table:
    """Rows of the effects contract.

    A question with two branches (exist ... or ...) is one item: each branch is intervened on by itself, and the item's
    log-probability is the mean of the two (ours).

    Args:
        parts: rows of :data:`vlmdx.mechanism.tables.PARTS`.
        operation: of all the items.
        role: object, or random for the control.
    """
    frame = parts.filter(pc.equal(parts["role"], role)).to_pandas()
    frame["head"] = frame["head"].astype("Int32")
    by = frame.groupby(KEY, sort=True, dropna=False)
    mean = by[["logprob_clean", "logprob"]].mean().assign(correct=by["correct"].first()).reset_index()
    mean["delta"] = mean["logprob_clean"] - mean["logprob"]
    mean["operation"] = operation
    return pa.Table.from_pandas(mean[EFFECTS.schema.names], EFFECTS.schema, preserve_index=False)


def set_aside(parts: pa.Table, operation: str) -> list[dict[str, Any]]:
    """Rows of the rejected contract: items that this model cannot be dissected on."""
    rows = parts.filter(pc.is_valid(parts["reason"])).select(["item_id", "reason"]).to_pylist()
    return [
        {"source": operation, "position": row["item_id"], "item_id": row["item_id"], "reason": row["reason"]}
        for row in sorted(rows, key=lambda row: row["item_id"])
    ]


def save_tensors(path: str | os.PathLike, parts: pa.Table, provenance: Mapping[str, Any] | None = None) -> None:
    """Effects as tensors: ``{role}.{intervention}.{position}`` float32 [layers, samples], in nats.

    Those of single heads are one tensor per layer, ``{role}.head_knockout.answer.{layer}`` float32 [heads, samples].

    The metadata has one entry, ``vlmdx``: JSON of ``samples``, the item and branch of each column by tensor, and
    ``provenance``. One entry, because safetensors writes several in a random order.
    """
    frame = parts.filter(pc.is_null(parts["reason"])).to_pandas()
    frame["delta"] = frame["logprob_clean"] - frame["logprob"]
    tensors, samples = {}, {}
    single = frame["head"].notna()
    frame["of"] = frame["layer"].astype(str).where(single, "")
    frame["row"] = frame["layer"].where(~single, frame["head"])
    for name, group in frame.groupby(["role", "intervention", "position", "of"], sort=True):
        wide = group.pivot(index="row", columns=["item_id", "branch"], values="delta").sort_index(axis=1)
        key = ".".join(filter(None, name))
        tensors[key] = torch.tensor(wide.to_numpy("float32", copy=True))
        samples[key] = [[item_id, int(branch)] for item_id, branch in wide.columns]
    _save(path, tensors, samples, provenance)


def join_tensors(
    path: str | os.PathLike, named: Mapping[str, str | os.PathLike], provenance: Mapping[str, Any] | None = None
) -> None:
    """Files of :func:`save_tensors` as one, each tensor with the file's name in ``named`` in front of its own."""
    tensors, samples = {}, {}
    for name, source in named.items():
        with safe_open(source, "pt") as file:
            about = json.loads(file.metadata()[FOOTER_KEY.decode()])["samples"]
            for key in file.keys():  # noqa: SIM118 -- a safetensors file is no mapping
                tensors[f"{name}.{key}"] = file.get_tensor(key)
                samples[f"{name}.{key}"] = about[key]
    _save(path, tensors, samples, provenance)


def _save(path: str | os.PathLike, tensors: dict, samples: dict, provenance: Mapping[str, Any] | None) -> None:
    record = json.dumps({"samples": samples, "provenance": provenance or {}}, sort_keys=True)
    with atomic(path) as temporary:
        save_file(tensors, temporary, metadata={FOOTER_KEY.decode(): record})


def account(parts: pa.Table, items: int, operation: str) -> str:
    """Items in = items done + items set aside, by reason.

    Raises:
        ValueError: not one item could be intervened on, or items are missing.
    """
    reasons = pd.Series([row["reason"] for row in set_aside(parts, operation)], dtype=object).value_counts()
    done = len(set(parts.filter(pc.is_null(parts["reason"]))["item_id"].to_pylist()))
    aside = int(reasons.sum())
    why = "".join(f"; {count} x {reason}" for reason, count in reasons.items())
    line = f"{operation}: {items} items = {done} dissected + {aside} set aside{why}"
    if not done or done + aside != items:
        raise ValueError(f"not one item could be dissected, or some are missing. {line}")
    return line
