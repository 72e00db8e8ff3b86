"""The resolution at which images are corrupted and shown, the same for clean and corrupted.

Severity is not resolution-free: a blur of three pixels destroys a thumbnail and is invisible on a large photo. So every
image is first brought to a declared reference resolution.
"""

import numpy as np
from PIL import Image

from vlmdx.images import MAX_ASPECT, resize_longest

MIN_SIDE = 32  # the corruption package and the vision towers (28 px cells) both refuse less


def reference(rgb: np.ndarray, side: int) -> np.ndarray:
    """The image at reference resolution: severity 0, and what every corruption starts from.

    One scale for both axes: the longest side is brought down to ``side`` (never up); if the shorter side would then be
    under 32 px, the scale is the one that makes it 32, and the longest side may exceed ``side``. An image that already
    fits is returned as it is.

    Args:
        rgb: uint8 [height, width, 3].
        side: longest side in pixels, at least 32.

    Returns:
        uint8 [height', width', 3].

    Raises:
        ValueError: not an RGB image, ``side`` under 32, or longer than 200 times its width.
    """
    if side < MIN_SIDE:
        raise ValueError(f"reference side is {side}, it must be at least {MIN_SIDE}")
    height, width = rgb.shape[:2]
    if max(height, width) > MAX_ASPECT * min(height, width):
        raise ValueError(
            f"an image of {width} x {height} is more than {MAX_ASPECT} times as long as wide; no vision tower takes "
            "it: set it aside when the data set is imported"
        )
    shrunk = resize_longest(rgb, side)
    if min(shrunk.shape[:2]) >= MIN_SIDE:
        return shrunk
    scale = MIN_SIDE / min(height, width)
    size = (max(round(width * scale), MIN_SIDE), max(round(height * scale), MIN_SIDE))
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))
