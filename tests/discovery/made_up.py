"""Made-up rollouts of a run: who asks what of which image, and what the answerer fails."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from vlmdx.schema.tables import ROLLOUTS

# Question -> what the answerer says and what is right; the skills are the oracle's, read off the question.
QUESTIONS = {
    "How many circles are there?": "count",
    "How many red objects are there?": "count",
    "How many squares are there?": "count",
    "What color is the circle?": "color",
    "What color is the square?": "color",
    "Is there a red circle?": "exist",
    "Is there a blue square?": "exist",
    "Is the circle red?": "verify",
    "Is the circle to the left of the square?": "relation",
    "Is the square above the circle?": "relation",
}


def row(**more: Any) -> dict[str, Any]:
    """A row of ROLLOUTS: a valid held-out question that was answered rightly, but for what is given."""
    base = {
        "run": "toy",
        "method": "zero-shot",
        "seed": 0,
        "phase": "held-out",
        "step": 0,
        "image_id": "a",
        "image_sha256": "0" * 64,
        "turn": 0,
        "sample": 0,
        "sample_seed": 7,
        "prompt": "Write one short question.",
        "question": "Is there a red circle?",
        "question_logprob": -1.5,
        "question_tokens": 5,
        "finished": True,
        "valid": True,
        "criterion": None,
        "validity_detail": "",
        "answer": "yes",
        "answer_logprob": -0.1,
        "correct": True,
        "reference": "yes",
        "judgement_detail": "",
        "semantic": 1.0,
        "lexical": 1.0,
        "delta": 1.0,
        "penalty": 0.0,
        "reward": 0.0,
    } | more
    if not base["valid"]:
        base |= {"answer": None, "answer_logprob": None, "correct": None, "reference": None}
        base |= {} if base["criterion"] or base["valid"] is None else {"criterion": "grounded"}
    assert set(base) == set(ROLLOUTS.schema.names)
    return base


def rollouts(
    fails: Callable[[str, random.Random], bool],
    run: str = "toy",
    images: int = 40,
    methods: Sequence[str] = ("zero-shot", "rl"),
    seeds: Sequence[int] = (0,),
    steps: int = 6,
) -> list[dict[str, Any]]:
    """Five held-out questions per image, method and seed, and a training of ``rl``.

    Args:
        fails: (question, randomness of this image and question) -> whether the answerer is wrong; the same for all who
            ask it.
    """
    rows = []
    for method in methods:
        for seed in seeds:
            draw = random.Random(f"{method} {seed}")
            places = [("held-out", 0, f"i{n:03}", turn) for n in range(images) for turn in range(5)]
            if method != "zero-shot":
                places += [("train", s, f"t{n:03}", 0) for s in range(1, steps + 1) for n in range(8)]
            for phase, step, image, turn in places:
                text = draw.choice(list(QUESTIONS))
                wrong = fails(text, random.Random(f"{image} {text}"))
                verdict = {"correct": not wrong, "answer": "no" if wrong else "yes", "valid": draw.random() > 0.1}
                rows.append(
                    row(
                        run=run,
                        method=method,
                        seed=seed,
                        phase=phase,
                        step=step,
                        image_id=image,
                        turn=turn,
                        question=text,
                        **verdict,
                    )
                )
    return rows


def embed(texts: Sequence[str]) -> np.ndarray:
    """Directions so many that no two texts are alike: float32 [n, 64], length 1."""
    rows = [np.random.default_rng(list(text.encode())).normal(size=64) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)


def weak_at_counting(text: str, luck: random.Random) -> bool:
    return luck.random() < (0.6 if text.startswith("How many") else 0.1)


def evenly_weak(text: str, luck: random.Random) -> bool:
    return luck.random() < 0.3


THINGS = {"1": {"name": "circle", "attributes": ["red"]}, "2": {"name": "square", "attributes": ["blue"]}}
GRAPH = {
    "width": 100,
    "height": 100,
    "objects": {k: {**t, "x": 0, "y": 0, "w": 9, "h": 9, "relations": []} for k, t in THINGS.items()},
}
