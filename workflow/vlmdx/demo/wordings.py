"""What the demo questioner is taught to ask: valid questions about a scene, the easy ones far more often.

A questioner that nobody trained asks the same few things over and over (arXiv 2604.04733 reports a lexical diversity of
.19 to .30 before training, .53 after). The demo questioner is taught such a habit: it knows all wordings, and uses few.
So what its training by reinforcement finds is found and not put in.
"""

import numpy as np
from PIL import Image

from vlmdx.demo.asked import Rng, pick
from vlmdx.demo.scene import COLORS, OPPOSITE, SHAPES, SIZES, Scene, scene_graph
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.roles import Question

NOWHERE = Image.new("RGB", (1, 1))  # the oracle looks at the scene graph
TRIES = 400

# Wording -> how often it is asked, by habit. Braces: a, b shapes; c, d colours; z a size; r a relation.
HABIT: dict[str, float] = {
    "What color is the {a}?": 60,
    "What color is the {z} {a}?": 10,
    "Is there a {c} {a}?": 6,
    "Is the {a} {c}?": 6,
    "Is there a {a} in the image?": 4,
    "What shape is the {c} object?": 4,
    "Is there a {c} object?": 2,
    "Is the {a} {c} or {d}?": 2,
    "Which color is the {a}?": 2,
    "What is the color of the {a}?": 1,
    "Is the {a} small or large?": 1,
    "Is the {a} {z}?": 1,
    "Is there a {a}?": 1,
    "What size is the {a}?": 1.5,
    "What is the size of the {a}?": 1.5,
    "Which size does the {a} have?": 1.5,
    "What is the shape of the {c} object?": 0.7,
    "Does the image have a {a}?": 0.8,
    "Does the image have a {c} {a}?": 0.8,
    "How many objects are there?": 0.5,
    "How many {z} objects are there?": 0.5,
    "How many {c} objects are there?": 0.5,
    "Are the {a} and the {b} the same color?": 0.7,
    "Are the {a} and the {b} the same size?": 0.7,
    "Do the {a} and the {b} have different colors?": 0.7,
    "Do the {a} and the {b} have different sizes?": 0.7,
    "Is the {a} {r} the {b}?": 0.6,
    "Is the {a} to the left or to the right of the {b}?": 0.6,
    "Is the {a} above or below the {b}?": 0.6,
    "What color is the object {r} the {b}?": 0.6,
    "What shape is the object {r} the {b}?": 0.6,
    "What is {r} the {b}?": 0.6,
    "Which shape is {r} the {b}?": 0.6,
}
EVENLY = dict.fromkeys(HABIT, 1.0)
FIRM = {wording: weight * (4 if wording.startswith("What color") else 1) for wording, weight in HABIT.items()}


class Wordings:
    """Valid questions about one scene.

    Args:
        scene: what is asked about.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._oracle = Oracle({scene.image_id: scene_graph(scene)})

    def draw(self, rng: Rng, count: int, habit: dict[str, float] | None = None) -> list[tuple[str, str]]:
        """``count`` different questions as (wording, text), fewer where the scene does not hold as many."""
        habit = HABIT if habit is None else habit
        wordings, weights = list(habit), np.array(list(habit.values()))
        weights = weights / weights.sum()
        found: dict[str, str] = {}
        for _ in range(TRIES):
            wording = wordings[int(rng.choice(len(wordings), p=weights))]
            text = self._fill(rng, wording)
            question = Question(self._scene.image_id, NOWHERE, text)
            if text not in found and self._oracle.validity([question])[0].valid:
                found[text] = wording
                if len(found) == count:
                    break
        return [(wording, text) for text, wording in found.items()]

    def answer(self, text: str) -> str:
        """The answer to a valid question."""
        return self._oracle.explain(self._scene.image_id, text)[1].answer

    def _fill(self, rng: Rng, wording: str) -> str:
        """Words mostly of things that are there, so that few tries are wasted; validity is the oracle's to say."""
        shown = [pick(rng, self._scene.things) for _ in range(2)]
        near = rng.random(2) < 0.7
        shapes = [t.shape for t in shown]
        colors = [t.color if n else pick(rng, COLORS) for t, n in zip(shown, near, strict=True)]
        if "there" in wording or "have a {" in wording:  # "no" should be the answer about as often as "yes"
            shapes[0] = shapes[0] if rng.random() < 0.5 else pick(rng, SHAPES)
        return wording.format(
            a=shapes[0], b=shapes[1], c=colors[0], d=colors[1], z=pick(rng, list(SIZES)), r=pick(rng, list(OPPOSITE))
        )
