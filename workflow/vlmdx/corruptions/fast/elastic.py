"""Elastic transform, channel by channel."""

import numpy as np
from scipy.ndimage import map_coordinates
from skimage.filters import gaussian

ELASTIC = (0.05, 0.065, 0.085, 0.1, 0.12)


def elastic_transform(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Move pixels along a smooth random field."""
    image = np.array(rgb, dtype=np.float32) / 255.0
    height, width = image.shape[:2]
    reach = height * 0.005
    field = [
        gaussian(
            rng.uniform(-reach, reach, size=(height, width)),
            np.array([height, width]) * 0.01,
            mode="reflect",
            truncate=3,
        )
        for _ in range(2)
    ]
    dx, dy = ((part * (250 * ELASTIC[severity - 1])).astype(np.float32) for part in field)
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    where = (y + dy, x + dx)
    planes = [map_coordinates(image[..., channel], where, order=1, mode="reflect") for channel in range(3)]
    return np.clip(np.stack(planes, axis=-1), 0, 1) * 255
