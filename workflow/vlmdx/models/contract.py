"""What every adapter must fulfil: named checks on a loaded model, run by the tests and by `vlmdx doctor`.

Each check returns nothing or raises :class:`CheckFailed` with the reason. They show the model three images of very
different shape and three prompts of very different length, because that is where batches go wrong.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.tokens import PromptError, continuation_ids

SIZES = ((56, 56), (500, 375), (900, 300))  # width, height
WORDS = (4, 60, 300)  # beside the chat template, in each prompt
# Largest difference of a letter's probability that rounding may cause, by precision of the weights. Batched and single
# products round differently by design (PyTorch notes, numerical accuracy); more than this is a defect.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.05, torch.float16: 0.01}


class CheckFailed(AssertionError):
    """A model does not keep the contract; the message says what was seen and what was expected."""


def require(condition: bool, reason: str) -> None:
    """Raise :class:`CheckFailed` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(reason)


def image(size: tuple[int, int], seed: int = 0) -> Image.Image:
    """Seeded noise of ``size`` = width, height: no two patches alike."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def samples(adapter: Adapter) -> tuple[list[str], list[Image.Image], list[Row]]:
    """Prompts, images and rows of the three mixed samples."""
    prompts = [adapter.render("Answer with the option " * (n // 4)) for n in WORDS]
    images = [image(size, seed) for seed, size in enumerate(SIZES)]
    rows = [
        Row(adapter.encode(prompt, shown), i) for i, (prompt, shown) in enumerate(zip(prompts, images, strict=True))
    ]
    return prompts, images, rows


def letter_probabilities(adapter: Adapter, prompt: str, logits: Tensor) -> Tensor:
    """Probabilities within A to D, float32 [4], from next-token logits [positions, vocabulary]."""
    return logits[0, adapter.letter_ids(prompt, 4)].softmax(-1)


def check_span(adapter: Adapter) -> None:
    """The image tokens are one span, as long as the produced grid, for every shape of image.

    Families that cut an image into tiles have no such grid; the model itself compares their tokens and features.
    """
    prompt = adapter.render("Answer")
    if not adapter.has_grid:
        return
    for size in SIZES:
        inputs = adapter.process(prompt, image(size))
        rows, columns = adapter.image_grids(inputs)[0]
        _, length = adapter.image_span(inputs["input_ids"][0])
        require(rows * columns == length, f"{size}: {length} image tokens, grid {rows} x {columns}")


def check_letters(adapter: Adapter) -> None:
    """Each of the 26 letters is one token after the prompt, all different, decided jointly with the prompt's end."""
    prompt = adapter.render("Answer")
    try:
        ids = adapter.letter_ids(prompt, 26)
    except PromptError as error:
        raise CheckFailed(str(error)) from error
    for letter, token in zip("AZ", (ids[0], ids[-1]), strict=True):
        joint = continuation_ids(adapter.encode_text, prompt, adapter.separator + letter)
        require(joint == [token], f"letter {letter}: joint encoding gives {joint}, read-out uses {token}")


def check_text_side(adapter: Adapter) -> None:
    """Reused ids and separately made pixels are the tensors of the processor's own call."""
    prompts, images, _ = samples(adapter)
    for prompt in prompts:
        for shown in images:
            adapter.encode(prompt, image(shown.size, seed=9))  # another image of this size comes first
            whole, text = adapter.process(prompt, shown), adapter.text_inputs([Row(adapter.encode(prompt, shown), 0)])
            made = {**adapter.pixels([shown]), **text}
            for name, expected in whole.items():
                require(name in made, f"input {name!r} of the processor is not made")
                same = torch.equal(made[name].cpu(), expected)
                require(same, f"input {name!r} differs from the processor's own for an image of {shown.size}")


def check_batch(adapter: Adapter) -> None:
    """A batch of three gives what three batches of one give, in any order: same probabilities, same choice."""
    prompts, images, rows = samples(adapter)
    alone = [adapter.logits([Row(row.ids, 0)], [images[row.image]])[0] for row in rows]
    for order in ([0, 1, 2], [2, 0, 1]):
        together = adapter.logits([rows[i] for i in order], images)
        for place, i in enumerate(order):
            _same(adapter, prompts[i], alone[i], together[place], f"sample {i} alone and as row {place} of 3")


def check_padding(adapter: Adapter) -> None:
    """Rows padded on the left and on the right give the same."""
    prompts, images, rows = samples(adapter)
    before, results = adapter.padding_side, {}
    try:
        for side in ("left", "right"):
            adapter.padding_side = side  # type: ignore[assignment]
            results[side] = adapter.logits(rows, images)
    finally:
        adapter.padding_side = before
    for i, prompt in enumerate(prompts):
        _same(adapter, prompt, results["left"][i], results["right"][i], f"sample {i} padded left and right")


def _same(adapter: Adapter, prompt: str, one: Tensor, other: Tensor, what: str) -> None:
    first, second = (letter_probabilities(adapter, prompt, logits) for logits in (one, other))
    difference = (first - second).abs().max().item()
    require(difference <= TOLERANCE[adapter.model.dtype], f"{what}: probabilities differ by {difference:.2g}")
    clear = first.topk(2).values.diff().abs().item() > 2 * TOLERANCE[adapter.model.dtype]
    require(not clear or int(first.argmax()) == int(second.argmax()), f"{what}: another option is chosen")


def check_image(adapter: Adapter) -> None:
    """Another image of the same size changes the logits: the pixels reach the answer."""
    prompt = adapter.render("Answer")
    first, second = image(SIZES[1], seed=0), image(SIZES[1], seed=1)
    ids = adapter.encode(prompt, first)
    logits = adapter.logits([Row(ids, 0), Row(ids, 1)], [first, second])
    require(not torch.equal(logits[0], logits[1]), "two different images give the same logits")


def check_memory(adapter: Adapter) -> None:
    """The result of a sample does not depend on what ran before it (huggingface/transformers#36013)."""
    _, images, rows = samples(adapter)
    first = adapter.logits([rows[1]], images[:2])
    adapter.logits([Row(rows[2].ids, 0)], [images[2]])
    require(torch.equal(first, adapter.logits([rows[1]], images[:2])), "a sample gives other logits after another one")


def check_hooks(adapter: Adapter) -> None:
    """A hook that changes nothing leaves the logits bit-identical, fires once a layer, and goes after an exception."""
    _, images, rows = samples(adapter)
    layers, fired = list(adapter.decoder_layers), []
    before = _hooks(layers)
    clean = adapter.logits(rows, images)
    watched = _with_hooks(adapter, rows, images, lambda module, inputs, output: fired.append(module))
    require(torch.equal(clean, watched), "an inactive hook on the decoder layers changes the logits")
    require(fired == layers, f"{len(fired)} firings of {len(layers)} decoder layers in one pass, or in another order")

    def broken(module, inputs, output):
        raise ZeroDivisionError

    try:
        _with_hooks(adapter, rows, images, broken)
    except ZeroDivisionError:
        pass
    else:
        raise CheckFailed("an exception inside a hook was swallowed")
    require(_hooks(layers) == before, "hooks are left on the decoder layers after an exception")
    require(torch.equal(clean, adapter.logits(rows, images)), "a pass after a failed one gives other logits")


def _with_hooks(adapter: Adapter, rows: Sequence[Row], images: Sequence[Image.Image], hook: Callable) -> Tensor:
    handles = [layer.register_forward_hook(hook) for layer in adapter.decoder_layers]
    try:
        return adapter.logits(rows, images)
    finally:
        for handle in handles:
            handle.remove()


def _hooks(layers: Sequence[torch.nn.Module]) -> int:
    return sum(len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in layers)


CHECKS: tuple[Callable[[Adapter], None], ...] = (
    check_span,
    check_letters,
    check_text_side,
    check_batch,
    check_padding,
    check_image,
    check_memory,
    check_hooks,
)
