"""Run one decoder layer on a few positions against the keys and values of the clean pass."""

from typing import Any

import torch
from torch import Tensor, nn

from vlmdx.mechanism.clean import EngineError, LayerPass, additive


class CleanCache:
    """Cache of one layer: the clean keys and values, to which those of the positions that run are appended.

    Args:
        keys, values: [rows, key heads, length, head width] of the clean pass.
        append: False reads the clean ones alone, for positions whose own keys and values are clean.
    """

    def __init__(self, keys: Tensor, values: Tensor, append: bool = True) -> None:
        self.keys, self.values, self.append = keys, values, append

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        if not self.append:
            return self.keys, self.values
        return torch.cat([self.keys, keys], -2), torch.cat([self.values, values], -2)


class _Known(Exception):
    """Raised inside a layer once its keys and values are there."""


class _Stop:
    """Cache that keeps what ``cache`` makes of the layer's keys and values, and stops the layer."""

    def __init__(self, cache: CleanCache) -> None:
        self.cache = cache

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.keys, self.values = self.cache.update(keys, values)
        raise _Known


def keys_values(at: LayerPass, hidden: Tensor, positions: Tensor, cache: CleanCache) -> tuple[Tensor, Tensor]:
    """Keys and values that :func:`run_layer` would read; nothing else of the layer is computed.

    Raises:
        EngineError: the layer asks no cache.
    """
    stop = _Stop(cache)
    try:
        at.module.forward(hidden, **_kwargs(at, len(hidden), positions, None, stop))
    except _Known:
        return stop.keys, stop.values
    raise EngineError(f"layer {at.index} does not hand its keys and values to a cache; use engine: reference")


def run_layer(
    at: LayerPass,
    hidden: Tensor,
    positions: Tensor,
    cache: CleanCache,
    allowed: Tensor,
    zero_mlp: Tensor | None = None,
) -> Tensor:
    """Output of layer ``at`` for some positions of each row.

    Args:
        at: the layer in the clean pass; gives module and rotary embeddings.
        hidden: input, [copies x rows, n, width]; copy by copy of the batch.
        positions: int64 [rows, n], where in the sequence they stand (for the rotary embeddings).
        cache: keys and values to read, k per row and copy.
        allowed: bool [copies x rows, 1 or heads, n, k]; or [rows, ...], the same for all copies.
        zero_mlp: bool [copies x rows, n], where the MLP's output is set to 0.

    Raises:
        EngineError: the layer's MLP did not run exactly once.
    """
    mask, copies = additive(allowed, hidden.dtype), len(hidden) // len(allowed)
    mask = mask.expand(copies, -1, -1, -1) if len(mask) == 1 else mask.repeat(copies, 1, 1, 1)
    kwargs = _kwargs(at, len(hidden), positions, mask, cache)
    # `forward` instead of a call: the hooks of the clean pass are not for this run.
    if zero_mlp is None or not zero_mlp.any():
        return at.module.forward(hidden, **kwargs)
    fired = []

    def silence(module: nn.Module, args: tuple, output: Tensor) -> Tensor:
        fired.append(module)
        return output.masked_fill(zero_mlp[..., None], 0)

    handle = mlp(at.module).register_forward_hook(silence)
    try:
        output = at.module.forward(hidden, **kwargs)
    finally:
        handle.remove()
    if len(fired) != 1:
        raise EngineError(f"the MLP of layer {at.index} ran {len(fired)} times in one pass of the layer")
    return output


def _kwargs(at: LayerPass, rows: int, positions: Tensor, mask: Tensor | None, cache: Any) -> dict[str, Any]:
    """What the layer is called with."""
    return {
        **at.kwargs,
        "position_embeddings": tuple(
            pick(part, positions).repeat(rows // len(positions), 1, 1) for part in at.kwargs["position_embeddings"]
        ),
        "position_ids": None,  # read by flash attention alone, which is refused
        "attention_mask": mask,
        "cache": cache,
    }


def mlp(layer: nn.Module) -> nn.Module:
    """The MLP of a decoder layer.

    Raises:
        EngineError: it has none of that name.
    """
    found = getattr(layer, "mlp", None)
    if not isinstance(found, nn.Module):
        raise EngineError(f"{type(layer).__name__} has no module named mlp")
    return found


def pick(values: Tensor, positions: Tensor) -> Tensor:
    """``values`` [rows or 1, length, ...] at ``positions`` [rows, n]: [rows, n, ...]."""
    rows = torch.arange(len(positions), device=positions.device)[:, None]
    return values.expand(len(positions), *values.shape[1:])[rows, positions]
