"""What every adapter must fulfil: named checks on a loaded model, run by the tests and by `vlmdx doctor`.

Each check returns what it saw, in words, or raises :class:`CheckFailed` with the reason. They show the model three
images of very different shape and three prompts of very different length, because that is where batches go wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.prompts import letters
from vlmdx.models.tokens import PromptError, continuation_ids

SIZES = ((56, 56), (500, 375), (900, 300))  # width, height
UPRIGHT = (300, 900)
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
    chosen = logits[0, adapter.letter_ids(prompt, 4)]
    require(bool(chosen.isfinite().all()), f"logits of the letters are not finite in {adapter.model.dtype}")
    return chosen.softmax(-1)


def check_span(adapter: Adapter) -> str:
    """The image tokens are one span, as long as the produced grid, for every shape of image.

    Families that cut an image into tiles have several grids, which take up all of their image tokens; the generic
    adapter has none, and the model itself compares tokens and features.
    """
    prompt, seen = adapter.render("Answer"), []
    for size in (*SIZES, UPRIGHT):
        inputs = adapter.process(prompt, image(size))
        ids = inputs["input_ids"][0]
        if not adapter.has_grid:
            seen.append(_tiled(adapter, ids, image(size)))
            continue
        rows, columns = adapter.image_grids(inputs)[0]
        start, length = adapter.image_span(ids)
        require(rows * columns == length, f"{size}: {length} image tokens, grid {rows} x {columns}")
        wide = (size[0] > size[1]) - (size[0] < size[1])
        require(wide * (columns - rows) >= 0, f"{size}: width and height of the grid {rows} x {columns} are swapped")
        inside = torch.zeros(len(ids), dtype=torch.bool)
        inside[start : start + length] = True
        marked = ids == adapter.image_token_id
        require(torch.equal(inside, marked), f"{size}: the span from {start} is not where the image tokens are")
        seen.append(f"{rows} x {columns}")
    shown = zip((*SIZES, UPRIGHT), seen, strict=True)
    return "; ".join(f"{width} x {height} px: {found}" for (width, height), found in shown)


def _tiled(adapter: Adapter, ids: Tensor, shown: Image.Image) -> str:
    """The views of a family without a single grid, or the number of image tokens where they are not known."""
    try:
        _, views = adapter.image_views(ids, shown)
    except NotImplementedError:
        return f"{adapter.image_tokens(ids[None])[0]} image tokens, views not known"
    except PromptError as error:
        raise CheckFailed(f"{shown.size}: {error}") from error
    return " + ".join(f"{view.grid[0]} x {view.grid[1]}" for view in views)


def check_letters(adapter: Adapter) -> str:
    """Each of the 26 letters is one token after the prompt, all different, decided jointly with the prompt's end."""
    prompt = adapter.render("Answer")
    try:
        ids = adapter.letter_ids(prompt, 26)
    except PromptError as error:
        raise CheckFailed(str(error)) from error
    for letter, token in zip(letters(26), ids, strict=True):
        joint = continuation_ids(adapter.encode_text, prompt, adapter.separator + letter)
        require(joint == [token], f"letter {letter}: joint encoding gives {joint}, read-out uses {token}")
    return f"A to Z are single tokens after {prompt[-12:] + adapter.separator!r}"


def check_text_side(adapter: Adapter) -> str:
    """Reused ids and separately made pixels are the tensors of the processor's own call."""
    prompts, images, _ = samples(adapter)
    names: set[str] = set()
    for prompt in prompts:
        for shown in images:
            adapter.encode(prompt, image(shown.size, seed=9))  # another image of this size comes first
            whole, text = adapter.process(prompt, shown), adapter.text_inputs([Row(adapter.encode(prompt, shown), 0)])
            made = {**adapter.pixels([shown]), **text}
            for name, expected in whole.items():
                require(name in made, f"input {name!r} of the processor is not made")
                same = torch.equal(made[name].cpu(), expected)
                require(same, f"input {name!r} differs from the processor's own for an image of {shown.size}")
            names |= set(whole)
    return f"equal to the processor's own: {', '.join(sorted(names))}"


def check_batch(adapter: Adapter) -> str:
    """A batch of three gives what three batches of one give, in any order: same probabilities, same choice."""
    prompts, images, rows = samples(adapter)
    alone = [adapter.logits([Row(row.ids, 0)], [images[row.image]])[0] for row in rows]
    largest = 0.0
    for order in ([0, 1, 2], [2, 0, 1]):
        together = adapter.logits([rows[i] for i in order], images)
        for place, i in enumerate(order):
            what = f"sample {i} alone and as row {place} of 3"
            largest = max(largest, _same(adapter, prompts[i], alone[i], together[place], what))
    return _within(adapter, largest)


def check_padding(adapter: Adapter) -> str:
    """Rows padded on the left and on the right give the same."""
    prompts, images, rows = samples(adapter)
    before, results = adapter.padding_side, {}
    try:
        for side in ("left", "right"):
            adapter.padding_side = side  # type: ignore[assignment]
            results[side] = adapter.logits(rows, images)
    finally:
        adapter.padding_side = before
    left, right = results["left"], results["right"]
    whats = [f"sample {i} padded left and right" for i in range(len(rows))]
    return _within(adapter, max(map(_same, [adapter] * len(rows), prompts, left, right, whats)))


def _same(adapter: Adapter, prompt: str, one: Tensor, other: Tensor, what: str) -> float:
    first, second = (letter_probabilities(adapter, prompt, logits) for logits in (one, other))
    difference = (first - second).abs().max().item()
    # Written so that NaN fails too.
    require(difference <= TOLERANCE[adapter.model.dtype], f"{what}: probabilities differ by {difference:.2g}")
    clear = first.topk(2).values.diff().abs().item() > 2 * TOLERANCE[adapter.model.dtype]
    require(not clear or int(first.argmax()) == int(second.argmax()), f"{what}: another option is chosen")
    return difference


def _within(adapter: Adapter, difference: float) -> str:
    return f"largest difference of a probability {difference:.1e}, allowed {TOLERANCE[adapter.model.dtype]:.0e}"


def check_image(adapter: Adapter) -> str:
    """Another image of the same size changes the logits: the pixels reach the answer."""
    prompt = adapter.render("Answer")
    first, second = image(SIZES[1], seed=0), image(SIZES[1], seed=1)
    ids = adapter.encode(prompt, first)
    logits = adapter.logits([Row(ids, 0), Row(ids, 1)], [first, second])
    require(not torch.equal(logits[0], logits[1]), "two different images give the same logits")
    return f"two images: logits differ by up to {(logits[0] - logits[1]).abs().max().item():.2g}"


def check_memory(adapter: Adapter) -> str:
    """The result of a sample does not depend on what ran before it (huggingface/transformers#36013)."""
    _, images, rows = samples(adapter)
    first = adapter.logits([rows[1]], images[:2])
    adapter.logits([Row(rows[2].ids, 0)], [images[2]])
    require(torch.equal(first, adapter.logits([rows[1]], images[:2])), "a sample gives other logits after another one")
    return "bit-identical after another sample"


def check_hooks(adapter: Adapter) -> str:
    """A hook that changes nothing leaves the logits bit-identical, fires once a layer, and goes after an exception."""
    _, images, rows = samples(adapter)
    rows, images = [Row(rows[1].ids, 0)], images[1:2]
    layers, fired = list(adapter.decoder_layers), []
    before = _hooks(adapter)
    clean = adapter.logits(rows, images)
    watched = _with_hooks(adapter, layers, rows, images, lambda module, inputs, output: fired.append(module))
    require(torch.equal(clean, watched), "an inactive hook on the decoder layers changes the logits")
    require(fired == layers, f"{len(fired)} firings of {len(layers)} decoder layers in one pass, or in another order")

    def broken(module, inputs, output):
        raise ZeroDivisionError

    try:
        _with_hooks(adapter, layers, rows, images, broken)
    except ZeroDivisionError:
        pass
    else:
        raise CheckFailed("an exception inside a hook was swallowed")
    require(torch.equal(clean, adapter.logits(rows, images)), "a pass after a failed one gives other logits")
    require(_hooks(adapter) == before, f"{_hooks(adapter) - before} hooks are left on the model")
    return f"{len(layers)} layers fire once a pass; inactive hooks change no bit"


def check_knockout(adapter: Adapter) -> str:
    """Overwriting the image tokens after the first layer moves the margin, after the last layer it cannot.

    The second half is an exact identity: nothing but the answer position is read after the last layer.
    """
    prompts, images, rows = samples(adapter)
    row, shown = Row(rows[1].ids, 0), [images[1]]
    marked = (row.ids == adapter.image_token_id).to(adapter.model.device)

    def mean_ablation(module, inputs, output):
        hidden = (output[0] if isinstance(output, tuple) else output).clone()
        hidden[:, marked] = hidden[:, marked].mean(1, keepdim=True)
        return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

    layers = list(adapter.decoder_layers)
    clean = adapter.logits([row], shown)
    last = _with_hooks(adapter, layers[-1:], [row], shown, mean_ablation)
    require(torch.equal(clean, last), "overwriting the image tokens after the last layer changes the answer")
    first = _with_hooks(adapter, layers[:1], [row], shown, mean_ablation)
    require(not torch.equal(clean, first), "overwriting the image tokens after the first layer changes nothing")
    before, after = (letter_probabilities(adapter, prompts[1], logits[0]) for logits in (clean, first))
    return f"first layer: a probability moves by {(before - after).abs().max().item():.1e}; last layer: by nothing"


def _with_hooks(
    adapter: Adapter,
    layers: Sequence[torch.nn.Module],
    rows: Sequence[Row],
    images: Sequence[Image.Image],
    hook: Callable,
) -> Tensor:
    handles = [layer.register_forward_hook(hook) for layer in layers]
    try:
        return adapter.logits(rows, images)
    finally:
        for handle in handles:
            handle.remove()


def _hooks(adapter: Adapter) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in adapter.model.modules())


CHECKS: tuple[Callable[[Adapter], str], ...] = (
    check_span,
    check_letters,
    check_text_side,
    check_batch,
    check_padding,
    check_image,
    check_memory,
    check_hooks,
    check_knockout,
)


@dataclass(frozen=True)
class Verdict:
    """Outcome of one check: what was seen, or why it failed."""

    check: str
    passed: bool
    detail: str


def examine(adapter: Adapter) -> Iterator[Verdict]:
    """Run all checks, one after the other; whatever a check raises is its failure."""
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            yield Verdict(name, True, check(adapter))
        except CheckFailed as error:
            yield Verdict(name, False, str(error))
        except Exception as error:
            yield Verdict(name, False, f"{type(error).__name__}: {error}")
