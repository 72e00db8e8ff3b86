"""Sample one scene: 2 to 4 coloured shapes on a square canvas, and its GQA scene graph."""

from dataclasses import dataclass

import numpy as np

CANVAS = 140  # px; a multiple of 28, Qwen2.5-VL's merged cell, and of 20, the LLaVA demo's patch
COLORS = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
SHAPES = ("circle", "square", "triangle", "cross")
SIZES = {"small": (16, 18), "large": (23, 26)}  # radius range in px; the gap keeps the two words separable
MARGIN = 20  # px; centres closer than this on an axis stand in no relation along it
OPPOSITE = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "above": "below",
    "below": "above",
}

# Scene indices of the three splits: disjoint ranges, so that no held-out scene was ever trained on.
DEMO_FIRST, HELD_OUT_FIRST, TRAIN_FIRST = 0, 500_000, 1_000_000


@dataclass(frozen=True)
class Thing:
    """One drawn shape; ``cx, cy, radius`` in px, ``angle`` in degrees."""

    object_id: str
    shape: str
    color: str
    size: str
    cx: int
    cy: int
    radius: int
    angle: float

    @property
    def box(self) -> tuple[int, int, int, int]:
        """``x, y, w, h`` in px; the circumscribed square, which lies inside the canvas by construction."""
        return self.cx - self.radius, self.cy - self.radius, 2 * self.radius, 2 * self.radius


@dataclass(frozen=True)
class Scene:
    """The things of scene ``index``; nothing in it depends on any other scene."""

    index: int
    things: tuple[Thing, ...]

    @property
    def image_id(self) -> str:
        return f"{self.index:07d}"


def generator(seed: int, index: int, stream: int) -> np.random.Generator:
    """Random numbers of one use (``stream``: 0 layout, 1 pixels, 2 questions, 3 options) of one scene."""
    return np.random.default_rng((seed, index, stream))


def sample_scene(seed: int, index: int) -> Scene:
    """Scene ``index`` of world ``seed``."""
    rng = generator(seed, index, 0)
    count = int(rng.integers(2, 5))
    if rng.random() < 0.7:  # mostly distinct shapes, so that "the circle" means one thing
        shapes = [SHAPES[i] for i in rng.permutation(len(SHAPES))[:count]]
    else:
        shapes = [str(s) for s in rng.choice(SHAPES, count)]
    sizes = [str(s) for s in rng.choice(list(SIZES), count)]
    radii = [int(rng.integers(SIZES[s][0], SIZES[s][1] + 1)) for s in sizes]
    centres = _place(rng, radii)
    colors: list[str] = []
    for i in range(count):  # two things of one shape never share a colour
        taken = {c for c, s in zip(colors, shapes, strict=False) if s == shapes[i]}
        shared = [c for c in colors if c not in taken]
        if shared and rng.random() < 0.3:  # else "the same color?" would nearly always be no
            colors.append(str(rng.choice(shared)))
        else:
            colors.append(str(rng.choice([c for c in COLORS if c not in taken])))
    angles = rng.uniform(-8, 8, count)
    return Scene(
        index,
        tuple(
            Thing(str(index * 10 + i), shapes[i], colors[i], sizes[i], *centres[i], radii[i], float(angles[i]))
            for i in range(count)
        ),
    )


def _place(rng: np.random.Generator, radii: list[int]) -> list[tuple[int, int]]:
    """Centres that keep every shape inside the canvas and apart from the others (rejection, whole layout at a time)."""
    while True:
        centres: list[tuple[int, int]] = []
        for radius in radii:
            for _ in range(20):
                x, y = (int(v) for v in rng.integers(radius + 1, CANVAS - radius, 2))
                if all(np.hypot(x - a, y - b) > radius + r + 2 for (a, b), r in zip(centres, radii, strict=False)):
                    centres.append((x, y))
                    break
        if len(centres) == len(radii):
            return centres


def related(subject: Thing, relation: str, obj: Thing) -> bool:
    """Whether "``subject`` is ``relation`` ``obj``" holds; image coordinates, y grows downwards."""
    gap = {
        "to the left of": obj.cx - subject.cx,
        "to the right of": subject.cx - obj.cx,
        "above": obj.cy - subject.cy,
        "below": subject.cy - obj.cy,
    }[relation]
    return gap >= MARGIN


def scene_graph(scene: Scene) -> dict:
    """The GQA scene graph of a scene: boxes in px, attributes (colour, size), every relation that holds."""
    objects = {}
    for thing in scene.things:
        x, y, w, h = thing.box
        objects[thing.object_id] = {
            "name": thing.shape,
            "x": x,
            "y": y,
            "w": w,
            "h": h,
            "attributes": [thing.color, thing.size],
            "relations": [
                {"name": relation, "object": other.object_id}
                for other in scene.things
                if other is not thing
                for relation in OPPOSITE
                if related(thing, relation, other)
            ],
        }
    return {"width": CANVAS, "height": CANVAS, "objects": objects}
