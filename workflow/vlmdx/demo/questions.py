"""Ask about a scene: different questions, the seven operations in turn."""

from vlmdx.demo.asked import Asked, pick
from vlmdx.demo.kinds import KINDS, Kinds
from vlmdx.demo.scene import Scene, generator


def ask(seed: int, scene: Scene, count: int, kinds: Kinds = KINDS) -> list[tuple[str, Asked]]:
    """``count`` different questions about a scene as ``(operation, question)``, operations in turn.

    Kinds that a scene does not allow (no unambiguous thing, no relation) are passed over for the next operation.

    Raises:
        ValueError: the scene does not hold that many different questions.
    """
    rng = generator(seed, scene.index, 2)
    order = list(kinds)
    start, asked, seen = int(rng.integers(len(order))), [], set()
    for turn in range(40 * count):
        operation = order[(start + turn) % len(order)]
        try:
            question = pick(rng, kinds[operation])(scene, rng)
        except ValueError:  # numpy: high <= 0, i.e. nothing to pick from
            continue
        if question.text not in seen:
            seen.add(question.text)
            asked.append((operation, question))
            if len(asked) == count:
                return asked
    raise ValueError(f"scene {scene.index}: {len(asked)} different questions found, {count} asked for")
