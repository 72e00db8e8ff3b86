"""RGB arrays: lossless PNG and back, a hash of the pixels, and the one downscaling rule."""

import hashlib
import io

import numpy as np
from PIL import Image


def png_bytes(rgb: np.ndarray) -> bytes:
    """Lossless PNG without metadata, written fast (level 1: a third of the time of the default, 15 % larger).

    Args:
        rgb: uint8, height x width x 3.

    Raises:
        ValueError: any other shape or dtype.
    """
    out = io.BytesIO()
    Image.fromarray(_checked(rgb)).save(out, "PNG", compress_level=1)
    return out.getvalue()


def from_png(data: bytes) -> np.ndarray:
    """Pixels of a PNG that :func:`png_bytes` wrote: uint8, height x width x 3, writable.

    Raises:
        ValueError: the bytes are something else, e.g. a source file that must go through ``decode``.
    """
    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        if image.mode != "RGB":
            raise ValueError(f"PNG of mode {image.mode}, expected RGB as png_bytes writes; use decode for source files")
        return np.array(image)


def pixel_sha256(rgb: np.ndarray) -> str:
    """SHA-256 over shape and pixels: the same for every file format and compression that holds the same picture."""
    rgb = _checked(rgb)
    digest = hashlib.sha256(f"{rgb.shape[0]}x{rgb.shape[1]}x3:".encode())
    digest.update(np.ascontiguousarray(rgb).data)
    return digest.hexdigest()


def resize_longest(rgb: np.ndarray, side: int) -> np.ndarray:
    """Shrink so that the longest side is ``side`` px (Lanczos, aspect kept to the nearest pixel); never enlarges.

    Raises:
        ValueError: ``side`` below 1, or not an RGB array.
    """
    if side < 1:
        raise ValueError(f"side = {side} px, must be 1 or more")
    height, width = _checked(rgb).shape[:2]
    longest = max(height, width)
    if longest <= side:
        return rgb
    size = tuple(max(1, (2 * edge * side + longest) // (2 * longest)) for edge in (width, height))  # rounds half up
    return np.array(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))


def _checked(rgb: np.ndarray) -> np.ndarray:
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
        raise ValueError(f"expected uint8 height x width x 3, got {rgb.dtype} of shape {rgb.shape}")
    return rgb
