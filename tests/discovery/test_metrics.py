"""The metrics of discovery against values computed by hand, and their intervals against a simulation."""

import numpy as np
import pandas as pd
import pytest
from vlmdx.discovery.metrics import jackknife, method_metrics, spread

VECTORS = {"a b 1": [1.0, 0.0], "a b 2": [0.0, 1.0], "c d 3": [0.6, 0.8]}


def embed(texts):
    return np.array([VECTORS[text] for text in texts])


def row(method, image, question, valid=True, correct=False, seed=0):
    asked = valid is True
    return {
        "method": method,
        "seed": seed,
        "image_id": image,
        "question": question,
        "valid": valid,
        "answer": "x" if asked else None,
        "correct": correct if asked else None,
    }


def table(rows):
    return pd.DataFrame(rows)


def metrics(rows, skills=None):
    found = method_metrics(table(rows), skills or {}, embed, replicates=200, confidence=0.95, seed=0)
    return found.set_index(["method", "metric"])


def test_every_metric_by_hand():
    rows = [
        row("zero-shot", "i", "a b 1", correct=True),
        row("zero-shot", "i", "a b 2", valid=False),
        row("zero-shot", "j", "c d 3"),
        row("zero-shot", "j", "a b 1", valid=None),
        row("rl", "i", "a b 1"),
        row("rl", "i", "c d 3"),
        row("rl", "j", "a b 2"),
        row("rl", "j", "c d 3", correct=None),
    ]
    skills = {("i", "a b 1"): ["color"], ("i", "c d 3"): ["color", "count"], ("j", "a b 2"): ["count", "color"]}
    found = metrics(rows, skills)["value"]
    assert found["zero-shot", "fdr"] == 0.25
    assert found["zero-shot", "fdr_valid"] == 0.5
    assert found["zero-shot", "validity"] == 0.5
    assert found["zero-shot", "undecided"] == 0.25
    assert found["zero-shot", "lexical_diversity"] == 0.75
    assert found["zero-shot", "lexical_diversity_overall"] == 0.5
    assert found["rl", "fdr"] == 0.75
    assert found["rl", "undecided"] == 0.25
    assert found["rl", "fdr_gain"] == 0.5
    assert found["rl", "semantic_diversity"] == pytest.approx(100 * (1 + 0.4 + 0.2) / 3)
    assert found["rl", "skill_coverage"] == 2
    assert found["rl", "skill_combinations"] == 2
    assert found["rl", "skills_per_question"] == pytest.approx(5 / 3)
    assert np.isnan(found["zero-shot", "semantic_diversity"])  # one failed question makes no pair
    assert ("zero-shot", "fdr_gain") not in found.index


def test_unequal_budgets_are_refused():
    with pytest.raises(ValueError, match="unequal numbers"):
        metrics([row("zero-shot", "i", "a b 1"), row("rl", "i", "a b 1"), row("rl", "i", "c d 3")])


def test_the_paired_interval_is_narrower_than_images_alone_would_make_it():
    rng = np.random.default_rng(0)
    rows = []
    for image in range(60):  # hard images fail under both methods
        hard = rng.random()
        for method, more in (("zero-shot", 0.0), ("rl", 0.2)):
            rows += [row(method, str(image), "a b 1", correct=bool(rng.random() > hard + more)) for _ in range(20)]
    found = metrics(rows)
    gain, fdr = found.loc[("rl", "fdr_gain")], found.loc[("rl", "fdr")]
    assert gain["low"] < gain["value"] < gain["high"]
    assert gain["high"] - gain["low"] < 0.6 * (fdr["high"] - fdr["low"])
    assert gain["low"] > 0


def test_spread_is_the_mean_over_all_pairs():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(7, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [1 - vectors[i] @ vectors[j] for i in range(7) for j in range(i)]
    assert spread(vectors) == pytest.approx(np.mean(pairs))


def test_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(2).normal(size=40)
    rows = pd.DataFrame({"image_id": [str(i) for i in range(40)], "x": values})
    found = jackknife(rows, lambda part: part["x"].mean(), 0.95)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(40)
    assert float(found.high[0] - found.value[0]) == pytest.approx(half, rel=1e-5)
