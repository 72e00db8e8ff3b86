"""One image, one corruption, one severity: pixels that depend on nothing but their arguments."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import imagecorruptions
import numpy as np
from PIL import Image

from vlmdx.corruptions import CORRUPTIONS, RANDOM, SEVERITIES, fast
from vlmdx.corruptions.reference import MIN_SIDE
from vlmdx.images import pixel_sha256


def item_seed(content: str, corruption: str, severity: int, seed: int) -> int | None:
    """Seed of one draw, 63 bits so that it fits a signed column; None for a corruption that draws nothing.

    Args:
        content: SHA-256 of the image's pixels.
        corruption: one of the 19 names.
        severity: 1 to 5.
        seed: the study's seed.
    """
    if corruption not in RANDOM:
        return None
    digest = hashlib.sha256(f"{seed}|{content}|{corruption}|{severity}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def corrupt(rgb: np.ndarray, corruption: str, severity: int, seed: int) -> np.ndarray:
    """Corrupt one image. The result is a function of the arguments alone.

    The package draws from NumPy's global generator; it is seeded here for the length of the call and put back.

    Args:
        rgb: uint8 [height, width, 3] at reference resolution (:func:`vlmdx.corruptions.reference.reference`).
        corruption: one of the 19 names.
        severity: 1 to 5.
        seed: the study's seed, any integer.

    Returns:
        uint8 of the same shape.

    Raises:
        ValueError: unknown corruption or severity, not an RGB image, or a side under 32 px.
    """
    if corruption not in CORRUPTIONS:
        raise ValueError(f"unknown corruption {corruption!r}; the names are {', '.join(CORRUPTIONS)}")
    if severity not in SEVERITIES:
        raise ValueError(f"severity of {corruption} is {severity!r}, it must be one of {SEVERITIES}")
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        raise ValueError(f"an image must be uint8 [height, width, 3], this one is {rgb.dtype} {list(rgb.shape)}")
    if min(rgb.shape[:2]) < MIN_SIDE:
        raise ValueError(f"an image must be at least {MIN_SIDE} px in both sides, this one is {list(rgb.shape[:2])}")
    return _pixels(rgb, corruption, severity, item_seed(pixel_sha256(rgb), corruption, severity, seed))


def _pixels(rgb: np.ndarray, corruption: str, severity: int, draw: int | None) -> np.ndarray:
    """Run one corruption on the draw's seed (None where nothing is drawn)."""
    if corruption in fast.FUNCTIONS:
        out = fast.FUNCTIONS[corruption](rgb, severity, _generator(draw))
    else:
        function = imagecorruptions.corruption_dict[corruption]
        extra = {"seed": draw} if corruption == "impulse_noise" else {}
        with _global_draws(draw), np.errstate(invalid="ignore"):
            out = np.asarray(function(Image.fromarray(rgb), severity, **extra), dtype=np.float64)
        if corruption == "spatter" and np.isnan(out).all():
            out = rgb.astype(np.float64)  # no drop fell, and the package divided 0 by 0
    if not np.isfinite(out).all():
        raise FloatingPointError(f"{corruption} at severity {severity} gave pixels that are not numbers")
    return out.astype(np.uint8)  # rounds down, as the package does


def _generator(draw: int | None) -> np.random.RandomState:
    """NumPy's legacy generator, which is what the package's functions draw from; 0 where nothing is drawn."""
    return np.random.RandomState([(draw or 0) & 0xFFFFFFFF, (draw or 0) >> 32])


@contextmanager
def _global_draws(draw: int | None) -> Iterator[None]:
    """Seed NumPy's global generator for the length of a block and put its state back."""
    if draw is None:
        yield
        return
    before = np.random.get_state()  # noqa: NPY002 -- the package draws from it
    try:
        np.random.set_state(_generator(draw).get_state())  # noqa: NPY002
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def self_check(names: Iterable[str] = CORRUPTIONS) -> None:
    """Run each corruption once, at severity 1 on 64 x 64 pixels: is the installation fit?

    Raises:
        RuntimeError: names the corruptions that do not run, return another shape, or change nothing.
    """
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    faults, seen = [], {image.tobytes(): "the untouched image"}
    for name in names:
        try:
            out = corrupt(image, name, 1, seed=0)
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if out.shape != image.shape or out.dtype != np.uint8:
            faults.append(f"{name}: returned {out.dtype} {list(out.shape)} for uint8 {list(image.shape)}")
        elif other := seen.get(out.tobytes()):
            faults.append(f"{name}: its output equals {other}")
        seen[out.tobytes()] = name
    if faults:
        raise RuntimeError(
            "the corruption libraries are not fit: " + "; ".join(faults) + ". Install the versions of the lock file."
        )
