"""The lessons of a demo model in order: what is taught for how many steps, at which learning rate."""

from dataclasses import dataclass, field

import numpy as np

from vlmdx.demo.kinds import EVEN_KINDS, KINDS, Kinds
from vlmdx.demo.lessons import Mix


@dataclass(frozen=True)
class Stage:
    """``steps`` of ``images`` each; ``dense`` weighs the dense-label loss; the learning rate decays from ``lr``."""

    name: str
    steps: int
    images: int
    mix: Mix
    lr: float = 1e-3
    dense: float = 0.2
    warmup: int = 50
    floor: float = 0.02
    deep: bool = True  # read answers and checks off before the last layer (vlmdx.demo.pack.DEPTH)
    kinds: Kinds = field(default_factory=lambda: KINDS)
    frozen: bool = False  # leave the vision tower as it is
    horizon: int | None = None  # steps over which the rate would reach the floor; None: those of the stage


def default_stages(name: str) -> tuple[Stage, ...]:
    """The shipped recipe; LLaVA's tower takes longer to see shapes, hence its stage "look"."""
    slow = name == "llava-demo"
    return (
        Stage("see", 1200 if slow else 800, 32, Mix(), dense=1.0, lr=2e-3, horizon=1500),
        Stage("pair", 300, 24, Mix(pair=8), floor=0.3),
        *([Stage("look", 400, 24, Mix(pair=8), lr=1.5e-3, dense=1.0, floor=0.2)] if slow else []),
        Stage(
            "say", 100, 24, Mix(pair=2, text=3, find=3), lr=1.5e-3, floor=0.7, horizon=300, deep=False, kinds=EVEN_KINDS
        ),
        *(
            [
                Stage("ask", 1000, 12, Mix(text=1, letter=5, find=1), lr=1e-3, dense=0.3, horizon=1300),
                Stage("settle", 400, 12, Mix(text=1, letter=6), lr=8e-4, dense=0.3),
                Stage("polish", 500, 12, Mix(text=1, letter=6), lr=8e-4, dense=0.0, frozen=True),
            ]
            if slow
            else [
                Stage("ask", 1200, 12, Mix(pair=1, text=2, letter=4, find=1), lr=1e-3, floor=1.0, kinds=EVEN_KINDS),
                Stage("drill", 300, 12, Mix(text=1, letter=6), lr=8e-4, horizon=2600, kinds=EVEN_KINDS),
                Stage("settle", 1100, 12, Mix(text=1, letter=6), lr=1e-3, dense=0.0, frozen=True),
                Stage("polish", 500, 12, Mix(text=1, letter=6), lr=8e-4, dense=0.0, frozen=True),
                Stage("finish", 600, 12, Mix(text=1, letter=6), lr=8e-4, dense=0.0, frozen=True),
            ]
        ),
    )


def stage_of(stages: tuple[Stage, ...], step: int) -> tuple[Stage, int, int]:
    """The stage of a step, the step within it, and the index of its first training scene."""
    scenes = 0
    for stage in stages:
        if step < stage.steps:
            return stage, step, scenes + step * stage.images
        step, scenes = step - stage.steps, scenes + stage.steps * stage.images
    raise ValueError("step beyond the last stage")


def rate(stage: Stage, at: int) -> float:
    """Linear warm-up, then cosine to ``floor``."""
    shape = stage.floor + (1 - stage.floor) * 0.5 * (1 + np.cos(np.pi * at / (stage.horizon or stage.steps)))
    return float(stage.lr * shape * min(1.0, (at + 1) / stage.warmup))
