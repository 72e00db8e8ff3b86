"""Draw a scene: textured background, anti-aliased shapes, mild sensor noise."""

import numpy as np
from PIL import Image, ImageDraw

from vlmdx.demo.scene import CANVAS, Scene, Thing, generator

RGB = {
    "red": (210, 40, 40),
    "green": (40, 160, 60),
    "blue": (45, 80, 210),
    "yellow": (235, 215, 50),
    "purple": (140, 50, 170),
    "orange": (240, 135, 30),
    "white": (242, 242, 242),
    "black": (22, 22, 22),
}
OVERSAMPLING = 3


def draw(seed: int, scene: Scene) -> np.ndarray:
    """Pixels of a scene, uint8 ``(CANVAS, CANVAS, 3)``; a function of ``seed`` and the scene alone."""
    rng = generator(seed, scene.index, 1)
    pixels = _background(rng)
    for thing in scene.things:
        cover = mask(thing)[..., None]
        paint = np.array(RGB[thing.color]) + rng.uniform(-14, 14, 3)
        pixels = pixels * (1 - cover) + paint * cover
    pixels += rng.normal(0, 5, pixels.shape)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def _background(rng: np.random.Generator) -> np.ndarray:
    """A dull mid-tone with a gradient and cloudy or striped texture, float ``(CANVAS, CANVAS, 3)``."""
    base = rng.uniform(95, 165) + rng.uniform(-14, 14, 3)
    ramp = np.linspace(-1, 1, CANVAS)
    slope = rng.uniform(-14, 14, 2)
    light = slope[0] * ramp[None, :] + slope[1] * ramp[:, None]
    if rng.random() < 0.5:
        cells = rng.normal(0, 9, (7, 7)).astype(np.float32)
        light = light + np.asarray(Image.fromarray(cells).resize((CANVAS, CANVAS), Image.Resampling.BICUBIC))
    else:
        period, phase, turn = rng.uniform(9, 24), rng.uniform(0, 6.28), rng.uniform(0, np.pi)
        along = np.cos(turn) * np.arange(CANVAS)[None, :] + np.sin(turn) * np.arange(CANVAS)[:, None]
        light = light + 8 * np.sin(6.2832 * along / period + phase)
    return base + light[..., None]


def mask(thing: Thing) -> np.ndarray:
    """How much of each pixel the shape covers, float in [0, 1], ``(CANVAS, CANVAS)``; exact zero far from it."""
    k, r = OVERSAMPLING, thing.radius
    side = 2 * (r + 1)
    tile = Image.new("L", (side * k, side * k), 0)
    ImageDraw.Draw(tile).polygon([((x * r + r + 1) * k, (y * r + r + 1) * k) for x, y in _outline(thing)], fill=255)
    small = np.asarray(tile.resize((side, side), Image.Resampling.BOX)) / 255.0
    cover = np.zeros((CANVAS + 2, CANVAS + 2))  # a 1 px rim, since the tile is 1 px wider than the box on each side
    x, y = thing.cx - r, thing.cy - r
    cover[y : y + side, x : x + side] = small
    return cover[1:-1, 1:-1]


def _outline(thing: Thing) -> np.ndarray:
    """Corners in units of the radius, ``(n, 2)``, inside the unit disc, turned by the thing's angle."""
    turns = {"circle": np.arange(40) / 40, "square": np.arange(4) / 4 + 0.125, "triangle": np.arange(3) / 3 - 0.25}
    if thing.shape in turns:
        around = 2 * np.pi * turns[thing.shape]
        points = np.stack([np.cos(around), np.sin(around)], 1)
    else:
        a, b = 0.3, 0.95
        points = np.array(
            [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a), (a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)]
        )
    t = np.deg2rad(thing.angle)
    return points @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
