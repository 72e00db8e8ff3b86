"""One clean forward pass, watched: each decoder layer's input, output, keys, values and mask, one layer at a time.

Nothing of a layer is kept once the next one starts, unless the visitor keeps it, so memory does not grow with depth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from vlmdx.models.adapter import Adapter, Row

OBEDIENT = ("eager", "sdpa")  # implementations that obey a 4-D mask; flash attention drops it silently


class EngineError(RuntimeError):
    """The fast engine cannot compute this model's numbers; the message names why and what to use instead."""


class Recorder:
    """Takes a cache's place in one call of a layer and keeps the keys and values that come by."""

    keys: Tensor
    values: Tensor

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.keys, self.values = keys, values
        return keys, values


@dataclass(frozen=True)
class LayerPass:
    """One decoder layer in the clean pass of a batch.

    Attributes:
        index: number of the layer.
        module: the layer.
        kwargs: what the model called it with.
        hidden: its input, [rows, length, width].
        output: its output, same shape.
        keys, values: [rows, key heads, length, head width], rotated.
        allowed: bool [rows, length, length]: position q (second) may read position k (third).
        injection: what the model adds between this layer and the next (DeepStack), or None.
    """

    index: int
    module: Any
    kwargs: dict[str, Any]
    hidden: Tensor
    output: Tensor
    keys: Tensor
    values: Tensor
    allowed: Tensor
    injection: Tensor | None


@dataclass
class _Watch:
    """State of the hooks during one pass."""

    visit: Callable[[LayerPass], None]
    real: Tensor
    context: dict[str, Any] = field(default_factory=dict)
    recorder: Recorder = field(default_factory=Recorder)
    hidden: Tensor | None = None
    expected: Tensor | None = None
    fired: int = 0
    masks: dict[int, tuple[Any, Tensor]] = field(default_factory=dict)


def text_model(adapter: Adapter) -> Any:
    """The module that runs the decoder layers.

    Raises:
        EngineError: there is none, or more than one.
    """
    layers = adapter.decoder_layers
    found = [module for module in adapter.model.modules() if getattr(module, "layers", None) is layers]
    if len(found) != 1 or not hasattr(found[0], "norm"):
        raise EngineError(f"{adapter.source}: {len(found)} modules run the decoder layers; use engine: reference")
    return found[0]


def check_attention(adapter: Adapter) -> None:
    """Refuse an attention implementation that would ignore the masks of a knockout.

    Raises:
        EngineError: it is none of eager and sdpa.
    """
    used = text_model(adapter).config._attn_implementation
    if used not in OBEDIENT:
        raise EngineError(
            f"{adapter.source}: attention {used!r} may ignore the mask of a knockout; load with {' or '.join(OBEDIENT)}"
        )


def walk(
    adapter: Adapter,
    rows: Sequence[Row],
    images: Sequence[Image.Image],
    real: Tensor,
    visit: Callable[[LayerPass], None],
) -> Tensor:
    """Run a batch without any change and call ``visit`` after each decoder layer.

    Args:
        adapter: the model.
        rows: the batch.
        images: its images.
        real: bool [rows, length], not padding.
        visit: called after each layer.

    Returns:
        float32 next-token logits as of :meth:`Adapter.logits`.

    Raises:
        EngineError: a layer did not run exactly once and in order, or the model does between two layers what the
            engine does not know.
    """
    check_attention(adapter)
    layers = list(adapter.decoder_layers)
    watch = _Watch(visit, real)

    def enter_model(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        watch.context = kwargs

    def enter(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        hidden = args[0]
        if watch.expected is not None and not torch.equal(hidden, watch.expected):
            raise EngineError(
                f"{adapter.source}: the input of layer {watch.fired} is not the output of the one before it; "
                "use engine: reference"
            )
        watch.hidden = hidden
        return args, {**kwargs, "cache": watch.recorder}

    def leave(module: nn.Module, args: tuple, kwargs: dict[str, Any], output: Tensor) -> None:
        if watch.fired >= len(layers) or module is not layers[watch.fired] or not isinstance(output, Tensor):
            raise EngineError(f"{adapter.source}: decoder layers ran in another order than they stand in")
        assert watch.hidden is not None
        injection = _injection(watch.context, watch.fired, output)
        visit(
            LayerPass(
                index=watch.fired,
                module=module,
                kwargs=kwargs,
                hidden=watch.hidden,
                output=output,
                keys=watch.recorder.keys,
                values=watch.recorder.values,
                allowed=_allowed(kwargs.get("attention_mask"), output, watch),
                injection=injection,
            )
        )
        watch.expected = output if injection is None else output + injection
        watch.fired += 1

    handles = [text_model(adapter).register_forward_pre_hook(enter_model, with_kwargs=True)]
    for layer in layers:
        handles.append(layer.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(layer.register_forward_hook(leave, with_kwargs=True))
    try:
        logits = adapter.logits(rows, images)
    finally:
        for handle in handles:
            handle.remove()
    if watch.fired != len(layers):
        raise EngineError(f"{adapter.source}: {watch.fired} of {len(layers)} decoder layers ran")
    return logits


def additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Mask to be added to the attention scores: 0 where ``allowed``, else minus infinity, so that the weight is 0."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, float("-inf"))


def _allowed(mask: Any, output: Tensor, watch: _Watch) -> Tensor:
    """bool [rows, length, length] from the mask that a layer was given; one object serves many layers."""
    if id(mask) not in watch.masks:
        length = output.shape[1]
        if mask is None:  # transformers leaves the mask out where it is causal and nothing is padded
            allowed = torch.ones(length, length, dtype=torch.bool, device=output.device).tril()
        elif isinstance(mask, Tensor) and mask.ndim == 4 and mask.shape[1] == 1:
            blocked = ~mask if mask.dtype == torch.bool else mask < torch.finfo(mask.dtype).min / 2
            allowed = ~blocked[:, 0]
        else:
            raise EngineError(f"attention mask of type {type(mask).__name__} is not 4-D; load with attention: sdpa")
        # What padding reads is of no interest, and would look like somebody reading the answer position.
        allowed = allowed & watch.real[:, :, None]
        watch.masks[id(mask)] = (mask, allowed)  # the mask itself is kept, so that its id stays its own
    return watch.masks[id(mask)][1]


def _injection(context: dict[str, Any], layer: int, output: Tensor) -> Tensor | None:
    """DeepStack (Qwen3-VL): vision features added to the image tokens after each of the first layers."""
    features = context.get("deepstack_visual_embeds")
    if features is None or layer >= len(features):
        return None
    added = torch.zeros_like(output)
    added[context["visual_pos_masks"]] = features[layer].to(output.dtype)
    return added
