"""Stages 2 to 4 of the taxonomy: topics, skills and meta-skills, from one primitive to some hundred."""

import numpy as np
import pytest
from vlmdx.discovery.topics import TopicSettings, meta_skills, stability, topics, vocabulary
from vlmdx.schema import write_table
from vlmdx.schema.tables import VOCABULARY

CENTRES = np.random.default_rng(5).normal(size=(26, 24))
SETTINGS = TopicSettings()


def embed(texts):
    """The first letter is the meaning; the rest moves it a little."""
    rows = []
    for text in texts:
        noise = np.random.default_rng(list(text.encode())).normal(size=24)
        row = CENTRES[ord(text[0]) - ord("a")] + 0.15 * noise
        rows.append(row / np.linalg.norm(row))
    return np.array(rows, dtype=np.float32)


def made(letters: str, each: int) -> dict[str, int]:
    return {f"{letter} number {n}": n + 1 for letter in letters for n in range(each)}


def partition(rows):
    found = {}
    for row in rows:
        found.setdefault(row["skill"], set()).add(row["primitive"][0])
    return found


def test_few_primitives_like_ones_meet_and_odd_ones_stay_alone(tmp_path):
    counts = made("abc", 4) | {"x alone": 1}
    rows = vocabulary(counts, embed, SETTINGS, 0)
    assert sorted(map(sorted, partition(rows).values())) == [["a"], ["b"], ["c"], ["x"]]
    assert [r["primitive"] for r in rows] == sorted(counts)
    assert {r["primitive"]: r["questions"] for r in rows} == counts
    names = {r["skill"] for r in rows}
    assert names <= set(counts)  # a skill bears the name of one of its own primitives
    assert all(r["primitive"][0] == r["skill"][0] for r in rows)
    assert all(r["meta_skill"] in names for r in rows)
    write_table(tmp_path / "vocabulary.parquet", rows, VOCABULARY)
    assert rows == vocabulary(dict(reversed(counts.items())), embed, SETTINGS, 0)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_one_to_three_primitives(number):
    counts = dict(list({"a thing": 2, "b thing": 1, "c thing": 1}.items())[:number])
    rows = vocabulary(counts, embed, SETTINGS, 0)
    assert [r["skill"] for r in rows] == list(counts)
    assert stability(counts, embed, SETTINGS, 0, 2) == []


def test_none_is_refused():
    with pytest.raises(ValueError, match="no primitive"):
        vocabulary({}, embed, SETTINGS, 0)


def test_many_primitives_go_through_umap_and_hdbscan_and_no_outlier_is_lost():
    counts = made("abcdefgh", 14) | {"z alone": 1}
    settings = TopicSettings(few=100)
    rows = vocabulary(counts, embed, settings, 3)
    found = partition(rows)
    pure = sum(len(letters) == 1 for letters in found.values())
    assert len(rows) == len(counts)
    assert pure >= 7
    assert rows == vocabulary(counts, embed, settings, 3)


def test_stability_is_high_for_clear_topics_and_low_for_noise():
    clear = stability(made("abcd", 5), embed, SETTINGS, 0, 3)
    assert len(clear) == 3
    assert min(r["adjusted_rand"] for r in clear) > 0.95
    assert all(r["primitives"] < 20 for r in clear)

    def chance(texts):
        rows = np.random.default_rng(len(texts)).normal(size=(len(texts), 3))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    noise = stability(made("abcd", 20), chance, SETTINGS, 0, 3)
    assert np.mean([r["adjusted_rand"] for r in noise]) < np.mean([r["adjusted_rand"] for r in clear])


def test_meta_skills_put_neighbours_together():
    names = [f"{letter} {n}" for letter in "abc" for n in range(3)]
    found = meta_skills(embed(names), names)
    assert len(set(found.values())) == 3
    assert all(skill[0] == meta[0] for skill, meta in found.items())


def test_topics_do_not_depend_on_global_randomness():
    texts = sorted(made("abcdefgh", 14))
    first = topics(texts, embed(texts), SETTINGS, 1)[0]
    np.random.seed(99)  # noqa: NPY002 -- somebody else's
    assert np.array_equal(first, topics(texts, embed(texts), SETTINGS, 1)[0])
