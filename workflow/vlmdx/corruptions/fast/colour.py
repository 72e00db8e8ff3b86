"""Brightness and saturation in HSV: scikit-image's operations on the same values, plane by plane."""

from collections.abc import Callable

import numpy as np

BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)  # added to the value
SATURATE = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))  # factor and summand of the saturation


def brightness(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Raise the value of every pixel; draws nothing."""
    return _through_hsv(rgb, lambda s, v: (s, np.clip(v + BRIGHTNESS[severity - 1], 0, 1)))


def saturate(rgb: np.ndarray, severity: int, rng: np.random.RandomState) -> np.ndarray:
    """Scale the saturation of every pixel: down at severities 1 and 2, up from 3; draws nothing."""
    factor, summand = SATURATE[severity - 1]
    return _through_hsv(rgb, lambda s, v: (np.clip(s * factor + summand, 0, 1), v))


def _through_hsv(rgb: np.ndarray, change: Callable) -> np.ndarray:
    """To HSV, ``change(saturation, value)``, and back; in between every plane is float64 in [0, 1]."""
    r, g, b = np.moveaxis(rgb, -1, 0) / 255.0
    v = np.maximum(np.maximum(r, g), b)
    delta = v - np.minimum(np.minimum(r, g), b)
    grey = delta == 0
    divisor = np.where(grey, 1.0, delta)
    # where two channels share the maximum, the later one decides
    hue = np.where(r == v, (g - b) / divisor, 0.0)
    hue = np.where(g == v, 2.0 + (b - r) / divisor, hue)
    hue = np.where(b == v, 4.0 + (r - g) / divisor, hue) / 6.0
    hue = np.where(hue < 0, hue + 1.0, hue)
    hue[grey] = 0.0
    s, v = change(np.where(grey, 0.0, delta / np.where(v == 0, 1.0, v)), v)

    sector = np.floor(hue * 6)
    f = hue * 6 - sector
    p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
    sector = sector.astype(np.uint8) % 6
    planes = (np.choose(sector, order) for order in ([v, q, p, p, t, v], [t, v, v, q, p, p], [p, p, t, v, v, q]))
    return np.clip(np.stack(list(planes), axis=-1), 0, 1) * 255
