"""Greedy selection against hand-made cases and a plain reference."""

import numpy as np
import pytest
from vlmdx.schema.tables import SELECTION
from vlmdx.selection.greedy import select

PLAIN = {"target": 3, "weight_gini": 0.5, "weight_image": 0.5, "max_similarity": 1.0}


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def pool(n, seed=0, d=8):
    rng = np.random.default_rng(seed)
    ids = [f"item {i:03d}" for i in range(n)]
    return ids, rng.random(n).astype(np.float32).tolist(), unit(rng.normal(size=(n, d))), unit(rng.normal(size=(n, 5)))


def ids(result):
    return result.table["item_id"].to_pylist()


def slow(item_ids, gini, image, text, target, weight_gini, weight_image, max_similarity):
    """The definition, word by word."""
    chosen = []
    while len(chosen) < target:
        options = []
        for i in sorted(range(len(item_ids)), key=lambda i: item_ids[i]):
            if gini[i] is None or i in chosen:
                continue
            sims = [
                weight_image * float(image[i] @ image[j]) + (1 - weight_image) * float(text[i] @ text[j])
                for j in chosen
            ]
            if chosen and max(sims) > max_similarity:
                continue
            value = gini[i] if not chosen else weight_gini * gini[i] + (1 - weight_gini) * (1 - max(sims))
            options.append((value, i))
        if not options:
            break
        best = max(value for value, _ in options)
        chosen.append(next(i for value, i in options if value == best))
    return [item_ids[i] for i in chosen]


@pytest.mark.parametrize("weights", [(0.5, 0.5, 0.6), (0.9, 0.1, 1.0), (0.0, 1.0, 0.3), (1.0, 0.5, 0.2)], ids=str)
def test_equal_to_the_definition(weights):
    item_ids, gini, image, text = pool(60)
    gini[7] = None
    options = dict(zip(("weight_gini", "weight_image", "max_similarity"), weights, strict=True))
    expected = slow(item_ids, gini, image, text, target=25, **options)
    result = select(item_ids, gini, image, text, target=25, **options)
    assert ids(result) == expected and len(expected) > 3
    assert result.table.schema.equals(SELECTION.schema)
    assert result.table["rank"].to_pylist() == list(range(len(expected)))
    assert result.table["similarity"].to_pylist()[0] is None
    assert max(result.table["similarity"].to_pylist()[1:]) <= weights[2] + 1e-6


def test_first_is_the_largest_gini_and_similarity_is_recorded():
    image = unit(np.array([[1.0, 0], [0, 1], [1, 1]]))
    result = select(["a", "b", "c"], [0.2, 0.8, 0.5], image, image, **PLAIN | {"max_similarity": 1.0})
    rows = result.table.to_pylist()
    assert [row["item_id"] for row in rows] == ["b", "a", "c"]
    assert [row["similarity"] for row in rows] == [None, pytest.approx(0, abs=1e-6), pytest.approx(0.7071, abs=1e-4)]


def test_ties_go_to_the_smaller_id_and_order_of_rows_does_not_matter():
    item_ids, _, image, text = pool(40)
    image[20:], text[20:] = image[:20], text[:20]  # every item has a twin: equal in all but its id
    gini = [0.5] * 40
    gini[3] = gini[23] = None
    options = PLAIN | {"target": 30}
    expected = ids(select(item_ids, gini, image, text, **options))
    assert expected[0] == "item 000"
    assert all(expected.index(f"item {n:03d}") < 19 for n in range(20) if n != 3), "twins before every original"
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(40)
        moved = select([item_ids[i] for i in order], [gini[i] for i in order], image[order], text[order], **options)
        assert ids(moved) == expected


def test_too_similar_is_refused_and_a_short_bench_says_so():
    item_ids, gini, image, text = pool(10)
    image[:], text[:] = image[0], text[0]
    gini[4] = None
    result = select(item_ids, gini, image, text, **PLAIN | {"max_similarity": 0.9, "target": 5})
    assert len(ids(result)) == 1 and (result.unscored, result.refused) == (1, 8)
    assert (
        "selected 1 of 5 wanted: NOT ENOUGH ITEMS. 1 of the pool have no Gini impurity, 8 are too" in result.account()
    )
    full = select(*pool(10), **PLAIN)
    assert full.account() == "selected 3 of 3 wanted"


def test_p07_a_pool_without_any_gini_is_an_error_in_words():
    item_ids, _, image, text = pool(4)
    with pytest.raises(ValueError, match="no item of the pool has a Gini impurity"):
        select(item_ids, [None] * 4, image, text, **PLAIN)


def test_wrong_input_is_refused():
    item_ids, gini, image, text = pool(4)
    with pytest.raises(ValueError, match="image embedding of item item 002 has length 3"):
        select(item_ids, gini, image * np.array([1, 1, 3, 1], np.float32)[:, None], text, **PLAIN)
    text_bad = text.copy()
    text_bad[1] = np.nan
    with pytest.raises(ValueError, match="text embedding of item item 001"):
        select(item_ids, gini, image, text_bad, **PLAIN)
    with pytest.raises(ValueError, match="equal length"):
        select(item_ids, gini[:3], image, text, **PLAIN)
    with pytest.raises(ValueError, match="twice"):
        select(["a", "a", "b", "c"], gini, image, text, **PLAIN)
    with pytest.raises(ValueError, match="target is 0"):
        select(item_ids, gini, image, text, **PLAIN | {"target": 0})
