"""The question kinds of the demo world as GQA functional programs.

Ids in an argument name what the step finally refers to, after the filters that follow it, as in GQA: "circle (12)",
"(-)" if there is nothing. Relate arguments: "name,relation,s (id)" means that the sought thing is the *subject* of
the relation, ",o" that it is its object. The kinds cover the seven operations of the operation rule: select, relate,
verify, exist, query, choose, filter. A maker raises ValueError where a scene does not allow its question.
"""

from collections.abc import Callable

from vlmdx.demo.asked import Asked, Rng, pick, short, unique
from vlmdx.demo.scene import COLORS, OPPOSITE, SHAPES, SIZES, Scene, Thing, related


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _query_color(scene: Scene, rng: Rng) -> Asked:
    t = pick(rng, unique(scene))
    return Asked(
        "query_color",
        f"What color is the {t.shape}?",
        t.color,
        f"The {t.shape} is {t.color}.",
        [("select", [], f"{t.shape} ({t.object_id})"), ("query", [0], "color")],
        ("query", "attr"),
        {t.shape: t.object_id},
    )


def _verify_attribute(scene: Scene, rng: Rng) -> Asked:
    t = pick(rng, unique(scene))
    what, true, words = pick(rng, [("color", t.color, COLORS), ("size", t.size, tuple(SIZES))])
    said = true if rng.random() < 0.5 else _wrong(scene, rng, what, true, words)
    answer = _yes(said == true)
    return Asked(
        f"verify_{what}",
        f"Is the {t.shape} {said}?",
        answer,
        f"{answer.capitalize()}, it is {true}.",
        [("select", [], f"{t.shape} ({t.object_id})"), (f"verify {what}", [0], said)],
        ("verify", "attr"),
        {t.shape: t.object_id},
    )


def _wrong(scene: Scene, rng: Rng, what: str, true: str, words: tuple[str, ...]) -> str:
    """A false attribute; half the time one that another thing has, so that seeing it somewhere does not help."""
    near = sorted({getattr(t, what) for t in scene.things} - {true})
    return pick(rng, near) if near and rng.random() < 0.5 else pick(rng, [w for w in words if w != true])


def _pair(scene: Scene, rng: Rng, relation: str | None = None) -> tuple[Thing, str, Thing]:
    """Two things of unique name and a relation that holds between them; IndexError-free only if there is one."""
    found = [
        (a, r, b) for a in unique(scene) for b in unique(scene) for r in OPPOSITE if a is not b and related(a, r, b)
    ]
    return pick(rng, found)


def _verify_relation(scene: Scene, rng: Rng) -> Asked:
    a, relation, b = _pair(scene, rng)
    said = relation if rng.random() < 0.5 else OPPOSITE[relation]
    answer = _yes(said == relation)
    return Asked(
        "verify_rel",
        f"Is the {a.shape} {said} the {b.shape}?",
        answer,
        f"{answer.capitalize()}, the {a.shape} is {relation} the {b.shape}.",
        [("select", [], f"{a.shape} ({a.object_id})"), ("verify rel", [0], f"{b.shape},{said},o ({b.object_id})")],
        ("verify", "rel"),
        {a.shape: a.object_id, b.shape: b.object_id},
    )


def _exist(scene: Scene, rng: Rng) -> Asked:
    present = sorted({t.shape for t in scene.things})
    absent = [s for s in SHAPES if s not in present]
    truth = not absent or rng.random() < 0.4  # below half: some scenes show every shape
    name = pick(rng, present if truth else absent)
    ids = [t.object_id for t in scene.things if t.shape == name]
    return Asked(
        "exist",
        f"Is there a {name} in the image?",
        _yes(truth),
        f"{_yes(truth).capitalize()}, there is {'a' if truth else 'no'} {name}.",
        [("select", [], f"{name} ({','.join(ids) or '-'})"), ("exist", [0], "?")],
        ("verify", "obj"),
        {name: ids[0]} if ids else {},
    )


def _filter_exist(scene: Scene, rng: Rng) -> Asked:
    t = pick(rng, scene.things)
    truth = rng.random() < 0.5
    pairs = {(x.color, x.shape) for x in scene.things}
    near = sorted({x.color for x in scene.things if (x.color, t.shape) not in pairs})
    far = [c for c in COLORS if (c, t.shape) not in pairs]
    color = t.color if truth else pick(rng, near if near and rng.random() < 0.5 else far)
    return Asked(
        "filter_exist",
        f"Is there a {color} {t.shape}?",
        _yes(truth),
        f"{_yes(truth).capitalize()}, there is {'a' if truth else 'no'} {color} {t.shape}.",
        [
            ("select", [], f"{t.shape} ({t.object_id if truth else '-'})"),
            ("filter color", [0], color),
            ("exist", [1], "?"),
        ],
        ("verify", "obj"),
        {t.shape: t.object_id} if truth else {},
    )


def _filter_name(scene: Scene, rng: Rng) -> Asked:
    colors = [t.color for t in scene.things]
    t = pick(rng, [t for t in scene.things if colors.count(t.color) == 1])
    return Asked(
        "filter_name",
        f"What shape is the {t.color} object?",
        t.shape,
        f"The {t.color} object is a {t.shape}.",
        [("select", [], f"object ({t.object_id})"), ("filter color", [0], t.color), ("query", [1], "name")],
        ("query", "cat"),
        {"object": t.object_id},
    )


def _filter_color(scene: Scene, rng: Rng) -> Asked:
    keys = [(t.size, t.shape) for t in scene.things]
    t = pick(rng, [t for t in scene.things if keys.count((t.size, t.shape)) == 1])
    return Asked(
        "filter_color",
        f"What color is the {t.size} {t.shape}?",
        t.color,
        f"The {t.size} {t.shape} is {t.color}.",
        [("select", [], f"{t.shape} ({t.object_id})"), ("filter size", [0], t.size), ("query", [1], "color")],
        ("query", "attr"),
        {t.shape: t.object_id},
    )


def _choose_attribute(scene: Scene, rng: Rng) -> Asked:
    t = pick(rng, unique(scene))
    what, true, words = pick(
        rng, [("color", t.color, COLORS), ("color", t.color, COLORS), ("size", t.size, tuple(SIZES))]
    )
    pair = [true, _wrong(scene, rng, what, true, words)]
    first, second = (pair[i] for i in rng.permutation(2))
    return Asked(
        f"choose_{what}",
        f"Is the {t.shape} {first} or {second}?",
        true,
        f"The {t.shape} is {true}.",
        [("select", [], f"{t.shape} ({t.object_id})"), (f"choose {what}", [0], f"{first}|{second}")],
        ("choose", "attr"),
        {t.shape: t.object_id},
    )


def _choose_relation(scene: Scene, rng: Rng) -> Asked:
    a, relation, b = _pair(scene, rng)
    first, second = ("to the left of", "to the right of") if relation.startswith("to the") else ("above", "below")
    spoken = first.removesuffix(" of")
    return Asked(
        "choose_rel",
        f"Is the {a.shape} {spoken} or {second} the {b.shape}?",
        short(relation),
        f"The {a.shape} is {relation} the {b.shape}.",
        [
            ("select", [], f"{b.shape} ({b.object_id})"),
            ("choose rel", [0], f"{a.shape},{first}|{second},s ({a.object_id})"),
        ],
        ("choose", "rel"),
        {a.shape: a.object_id, b.shape: b.object_id},
    )


def _relate_query(scene: Scene, rng: Rng) -> Asked:
    found = []
    for b in unique(scene):
        for relation in OPPOSITE:
            hits = [a for a in scene.things if a is not b and related(a, relation, b)]
            clear = all(
                related(a, relation, b) or related(a, OPPOSITE[relation], b) for a in scene.things if a is not b
            )
            if len(hits) == 1 and clear:  # a thing in the dead zone would make "the object" debatable
                found.append((hits[0], relation, b))
    a, relation, b = pick(rng, found)
    what, answer = pick(rng, [("color", a.color), ("shape", a.shape)])
    return Asked(
        f"relate_{what}",
        f"What {what} is the object {relation} the {b.shape}?",
        answer,
        f"The object {relation} the {b.shape} is {'a ' if what == 'shape' else ''}{answer}.",
        [
            ("select", [], f"{b.shape} ({b.object_id})"),
            ("relate", [0], f"_,{relation},s ({a.object_id})"),
            ("query", [1], "name" if what == "shape" else "color"),
        ],
        ("query", "rel"),
        {b.shape: b.object_id, "object": a.object_id},
    )


def _relate_exist(scene: Scene, rng: Rng) -> Asked:
    a, relation, b = _pair(scene, rng)
    truth = rng.random() < 0.5
    said = relation if truth else OPPOSITE[relation]
    return Asked(
        "relate_exist",
        f"Is there a {a.shape} {said} the {b.shape}?",
        _yes(truth),
        f"{_yes(truth).capitalize()}, there is {'a' if truth else 'no'} {a.shape} {said} the {b.shape}.",
        [
            ("select", [], f"{b.shape} ({b.object_id})"),
            ("relate", [0], f"{a.shape},{said},s ({a.object_id if truth else '-'})"),
            ("exist", [1], "?"),
        ],
        ("verify", "rel"),
        {b.shape: b.object_id, **({a.shape: a.object_id} if truth else {})},
    )


def _compare(scene: Scene, rng: Rng) -> Asked:
    things = unique(scene)
    i, j = rng.permutation(len(things))[:2]
    a, b = things[int(i)], things[int(j)]
    what = "size" if a.color != b.color and rng.random() < 0.6 else "color"
    word = pick(rng, ["same", "different"])
    truth = (getattr(a, what) == getattr(b, what)) == (word == "same")
    text = (
        f"Are the {a.shape} and the {b.shape} the same {what}?"
        if word == "same"
        else f"Do the {a.shape} and the {b.shape} have different {what}s?"
    )
    return Asked(
        f"{word}_{what}",
        text,
        _yes(truth),
        f"{_yes(truth).capitalize()}.",
        [
            ("select", [], f"{a.shape} ({a.object_id})"),
            ("select", [], f"{b.shape} ({b.object_id})"),
            (f"{word} {what}", [0, 1], what),
        ],
        ("compare", "attr"),
        {a.shape: a.object_id, b.shape: b.object_id},
    )


Kinds = dict[str, tuple[Callable[[Scene, Rng], Asked], ...]]
# Operation -> makers of its questions, drawn at equal chance; a maker that stands twice is asked twice as often.
KINDS: Kinds = {
    "select": (_compare,),
    "relate": (_relate_query, _relate_exist),
    "verify": (_verify_attribute,) * 5 + (_verify_relation,),
    "exist": (_exist,),
    "query": (_query_color,),
    "choose": (_choose_attribute,) * 5 + (_choose_relation,),
    "filter": (_filter_exist, _filter_name, _filter_color),
}


# The first lessons ask more about relations than the world does.
EVEN_KINDS: Kinds = {
    **KINDS,
    "verify": (_verify_attribute, _verify_attribute, _verify_relation),
    "choose": (_choose_attribute, _choose_attribute, _choose_relation),
}
