"""Snow, frost and fog; where they differ from the package stands in :mod:`vlmdx.corruptions.fast`."""

import importlib.resources
import math
from functools import lru_cache

import cv2
import numpy as np
from scipy.ndimage import zoom

from vlmdx.corruptions.fast.blur import streak

FOG = ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))  # thickness, decay of the fractal's detail
FROST = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))  # weight of the picture, of the frost
FROST_FILES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg", "frost6.jpg")
SNOW = (  # mean, sd, zoom of the flakes, threshold, blur radius, blur sigma, weight of the picture
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)
FOG_BLOCK = 1 << 18  # values drawn at once: the draws' float64 temporaries stay under a few MiB


def snow(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Whiten the picture and let blurred flakes fall in a random direction."""
    mean, sd, factor, threshold, radius, sigma, weight = SNOW[severity - 1]
    x = np.array(rgb, dtype=np.float32) / 255.0
    flakes = _clipped_zoom(rng.normal(size=x.shape[:2], loc=mean, scale=sd), factor)
    flakes[flakes < threshold] = 0
    flakes = streak(np.clip(flakes, 0, 1), radius, sigma, rng.uniform(-135, -45))
    flakes = np.round(flakes[: x.shape[0], : x.shape[1], None] * 255).astype(np.uint8) / 255.0
    gray = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    x = weight * x + (1 - weight) * np.maximum(x, gray * 1.5 + 0.5)
    return np.clip(x + flakes + np.rot90(flakes, k=2), 0, 1) * 255


def _clipped_zoom(plane: np.ndarray, factor: float) -> np.ndarray:
    """The middle of ``plane`` [height, width] enlarged by ``factor`` >= 1 to at least [height, width]."""
    height, width = plane.shape
    rows, columns = math.ceil(height / float(factor)), math.ceil(width / float(factor))
    top, left = (height - rows) // 2, (width - columns) // 2
    # mode="nearest": with the default, a coordinate one rounding error beyond the last pixel is read as black
    return zoom(plane[top : top + rows, left : left + columns], factor, order=1, mode="nearest")


def frost(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Lay a random cut of one of six photographs of frost over the picture."""
    weight, strength = FROST[severity - 1]
    number = rng.randint(6)
    height, width = rgb.shape[:2]
    texture = _frost_texture(number, height, width)
    top, left = rng.randint(0, texture.shape[0] - height), rng.randint(0, texture.shape[1] - width)
    return np.clip(weight * rgb + strength * texture[top : top + height, left : left + width, ::-1], 0, 255)


@lru_cache(maxsize=6)
def _frost_file(number: int) -> np.ndarray:
    with importlib.resources.as_file(
        importlib.resources.files("imagecorruptions") / "frost" / FROST_FILES[number]
    ) as path:
        texture = cv2.imread(str(path))
    if texture is None:
        raise FileNotFoundError(f"{path}: the corruption package's frost picture cannot be read; install it again")
    return texture


def _frost_texture(number: int, height: int, width: int) -> np.ndarray:
    """Texture ``number`` as BGR, enlarged so that a cut of [height, width] fits with a tenth to spare."""
    rows, columns = _frost_file(number).shape[:2]
    factor = max(1, height / rows, width / columns) * 1.1
    return _resized_frost(number, math.ceil(columns * factor), math.ceil(rows * factor))


@lru_cache(maxsize=6)
def _resized_frost(number: int, width: int, height: int) -> np.ndarray:
    return cv2.resize(_frost_file(number), dsize=(width, height), interpolation=cv2.INTER_CUBIC)


def fog(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Add a plasma fractal and scale back to the picture's own brightest value."""
    thickness, decay = FOG[severity - 1]
    height, width = rgb.shape[:2]
    x = rgb / 255.0
    brightest = x.max()
    x += thickness * _plasma(1 << (max(height, width) - 1).bit_length(), decay, rng, height, width)[..., None]
    return np.clip(x * brightest / (brightest + thickness), 0, 1) * 255


def _plasma(n: int, decay: float, rng: np.random.RandomState, height: int, width: int) -> np.ndarray:
    """Top left [height, width] of a diamond-square height map of n x n on a torus, float32 in [0, 1].

    The whole map has to be drawn, as it is scaled by its own extremes.
    """
    field = np.empty((n, n), dtype=np.float32)
    field[0, 0] = 0
    step, wibble = n, 100.0
    while step >= 2:
        half = step // 2
        corner, middle = field[::step, ::step], field[half::step, half::step]
        top, side = field[::step, half::step], field[half::step, ::step]
        count = n // step
        block = max(FOG_BLOCK // count, 1)
        blocks = [np.arange(start, min(start + block, count)) for start in range(0, count, block)]

        def fill(target: np.ndarray, total: np.ndarray, rows: np.ndarray, wibble: float = wibble) -> None:
            target[rows] = total / 4 + wibble * rng.uniform(-wibble, wibble, total.shape)

        for rows in blocks:
            pair = corner[rows] + corner[(rows + 1) % count]
            fill(middle, pair + np.roll(pair, -1, axis=1), rows)
        for rows in blocks:
            above = middle[rows] + middle[rows - 1]
            fill(top, above + (corner[rows] + np.roll(corner[rows], -1, axis=1)), rows)
        for rows in blocks:
            beside = middle[rows] + np.roll(middle[rows], 1, axis=1)
            fill(side, beside + (corner[rows] + corner[(rows + 1) % count]), rows)
        step, wibble = half, wibble / decay
    low, high = field.min(), field.max()
    return (field[:height, :width] - low) / (high - low)
