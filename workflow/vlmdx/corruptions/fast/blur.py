"""Glass, motion and zoom blur; where they differ from the package stands in :mod:`vlmdx.corruptions.fast`."""

import math

import numpy as np
from numba import njit
from skimage.filters import gaussian

# Blur sigma, reach in px, rounds.
GLASS: tuple[tuple[float, int, int], ...] = (
    (0.7, 1, 2),
    (0.9, 2, 1),
    (1, 2, 3),
    (1.1, 3, 2),
    (1.5, 4, 2),
)
MOTION = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))  # kernel radius, sigma
ZOOM = ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))  # end of the zoom range, step


def glass_blur(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Blur, move every pixel by a random small step, blur.

    The draws are those that numba's ``np.random.randint`` makes after the same seed: numba follows NumPy's legacy
    generator bit for bit.
    """
    sigma, reach, rounds = GLASS[severity - 1]
    pixels = (gaussian(rgb / 255.0, sigma=sigma, channel_axis=-1) * 255).astype(np.uint8)
    height, width = pixels.shape[:2]
    flat = pixels.reshape(-1, 3)
    for _ in range(rounds):
        step = rng.randint(-reach, reach, size=(height - 2 * reach, width - 2 * reach, 2)).astype(np.int32)
        flat = flat[_displaced(height, width, reach, step[..., 0], step[..., 1])]
    return np.clip(gaussian(flat.reshape(pixels.shape) / 255.0, sigma=sigma, channel_axis=-1), 0, 1) * 255


def _displaced(height: int, width: int, reach: int, dx: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Where each pixel of one round comes from, as flat indices [height * width].

    The package goes through the inner pixels from the last to the first and writes "x[p], x[q] = x[q], x[p]". On
    arrays that is no swap: both sides are views, so x[p] takes x[q] and x[q] stays. A pixel therefore holds what its
    target held when it was visited: the target's old value, or, where the target was visited before, the value *it*
    had taken. Those chains end after a few links and are followed by pointer doubling.
    """
    rows = np.arange(height - reach, reach, -1, dtype=np.int32)[:, None]
    columns = np.arange(width - reach, reach, -1, dtype=np.int32)[None, :]
    here = rows * width + columns
    row, column = rows + dy, columns + dx
    there = row * width + column
    visited = (there > here) & (row > reach) & (row <= height - reach) & (column > reach) & (column <= width - reach)
    source = np.arange(height * width, dtype=np.int32)
    link = source.copy()
    source[here] = there
    link[here] = np.where(visited, there, here)
    while True:
        further = link[link]
        if np.array_equal(further, link):
            return source[link]
        link = further


def motion_blur(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Blur along a random direction within 45 degrees of horizontal."""
    radius, sigma = MOTION[severity - 1]
    return np.clip(streak(rgb, radius, sigma, rng.uniform(-45, 45)), 0, 255)


def streak(image: np.ndarray, radius: int, sigma: float, angle: float) -> np.ndarray:
    """One-sided Gaussian blur of ``image`` [height, width, ...] along ``angle`` degrees, edges continued."""
    width = 2 * radius + 1
    kernel = np.exp(-(np.arange(width) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)
    kernel = kernel / np.sum(kernel)
    down, along = width * np.sin(np.deg2rad(angle)), width * np.cos(np.deg2rad(angle))
    length = math.hypot(down, along)
    shifts = [(math.ceil(i * down / length - 0.5), math.ceil(i * along / length - 0.5)) for i in range(width)]
    pad = [(width, width), (width, width)] + [(0, 0)] * (image.ndim - 2)
    padded = np.pad(image, pad, mode="edge").astype(np.float64)
    blurred, layer = np.zeros(image.shape), np.empty(image.shape)
    for weight, (dy, dx) in zip(kernel, shifts, strict=True):
        top, left = width + dy, width + dx
        np.multiply(padded[top : top + image.shape[0], left : left + image.shape[1]], weight, out=layer)
        blurred += layer
    return blurred


def zoom_blur(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Mean of the picture and its enlargements about the centre; draws nothing."""
    end, step = ZOOM[severity - 1]
    factors = np.arange(1, end, step)
    image = (rgb / 255.0).astype(np.float32)
    total = np.zeros_like(image)
    for factor in factors:
        _add_enlarged(image, total, *_positions(image.shape[0], factor), *_positions(image.shape[1], factor))
    return np.clip((image + total) / (len(factors) + 1), 0, 1) * 255


def _positions(length: int, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where along one axis each of ``length`` enlarged pixels is read: left neighbour, right neighbour, weight of it.

    As ``scipy.ndimage.zoom`` places them on the middle ``length / factor`` pixels, first on first and last on last.
    """
    inner = math.ceil(length / float(factor))
    start = (length - inner) // 2
    steps = (inner - 1) / (round(inner * factor) - 1)
    # the minimum keeps the last position inside, where scipy reads black one rounding error beyond the last pixel
    position = np.minimum(np.arange(length) * steps, inner - 1)
    left = np.floor(position).astype(np.int64)
    return start + left, start + np.minimum(left + 1, inner - 1), position - left


@njit(nogil=True)
def _add_enlarged(image, total, top, bottom, down, left, right, along):  # pragma: no cover -- compiled
    """Add one enlargement to ``total``; products and sums in the order of scipy, so that the bits are the same."""
    for row in range(total.shape[0]):
        for column in range(total.shape[1]):
            for channel in range(total.shape[2]):
                value = image[top[row], left[column], channel] * (1.0 - down[row]) * (1.0 - along[column])
                value += image[top[row], right[column], channel] * (1.0 - down[row]) * along[column]
                value += image[bottom[row], left[column], channel] * down[row] * (1.0 - along[column])
                value += image[bottom[row], right[column], channel] * down[row] * along[column]
                total[row, column, channel] += np.float32(value)
