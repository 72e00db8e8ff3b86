"""Failure modes: a planted weakness is found and named first, nothing is found where there is none."""

import random

import numpy as np
import pandas as pd
import pytest
from vlmdx.discovery.failure_modes import evidence, failure_modes, score_test, shared_skills
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.primitives import question_primitives

from tests.discovery.made_up import GRAPH, evenly_weak, rollouts, row, weak_at_counting

CHOSEN = {"minimum": 10, "alpha": 0.05, "replicates": 200, "confidence": 0.95, "seed": 0}


def skills_of(rows):
    asked = [(r["image_id"], r["question"]) for r in rows if r["valid"]]
    found = question_primitives(Oracle({"a": GRAPH}), "", asked, lambda _: None)
    return {(r["image_id"], r["question"]): r["primitives"] for r in found}


def modes(rows, **more):
    return failure_modes(evidence(pd.DataFrame(rows)), skills_of(rows), **CHOSEN | more)


def test_a_planted_weakness_is_named_first():
    table = modes(rollouts(weak_at_counting))
    first = table.iloc[0]
    assert first["mode"] == "count"
    assert first["q"] < 0.001
    assert first["low"] > first["base"]
    assert first["lift"] > 1.5
    found = table[table["failure_mode"]]
    assert all("count" in mode for mode in found["mode"])
    assert not table.set_index("mode").loc["see color", "failure_mode"]


def test_what_only_comes_along_is_told_apart():
    """Half of the color filters stand in counting questions: nothing of them is left once counting is known."""
    table = modes(rollouts(weak_at_counting, images=120)).set_index("mode")
    along, above = table.loc["pick out by color"], table.loc["count"]
    assert along["questions_alone"] < along["questions"]
    assert along["rate_alone"] < 0.2 < above["rate"]
    assert above["rate_alone"] == above["rate"]


def test_a_combination_is_news_only_above_the_strongest_of_its_skills():
    """Relations fail where two things are compared, and only there."""
    rows, skills = [], {}
    for n in range(60):
        for m, (needs, rate) in enumerate([("tell see", 0.9), ("tell", 0.2), ("see", 0.2), ("count", 0.6),
                                           ("count name", 0.6), ("name", 0.2)]):  # fmt: skip
            rows.append(row(image_id=f"i{n}", question=f"{needs}?", correct=random.Random(f"{n} {m}").random() > rate))
            skills[f"i{n}", f"{needs}?"] = needs.split()
    table = failure_modes(evidence(pd.DataFrame(rows)), skills, **CHOSEN).set_index("mode")
    assert table.index[0] == "see + tell"
    assert table.loc["see + tell", "adds"]
    assert table.loc["see + tell", "part_rate"] < 0.7
    assert table.loc["count", "failure_mode"]
    assert not table.loc["count + name", "adds"]
    assert table.loc["count + name", "part"] == "count"
    assert list(table.index).index("count + name") > list(table.index).index("count")


def test_no_weakness_no_failure_mode():
    found = [modes(rollouts(lambda text, luck, n=n: random.Random(f"{n}{luck.random()}").random() < 0.3))
             for n in range(20)]  # fmt: skip
    assert sum(table["failure_mode"].any() for table in found) <= 2  # one in twenty is what alpha grants
    assert all(len(table) > 5 for table in found)


def test_a_question_counts_once_however_often_it_was_asked():
    rows = rollouts(weak_at_counting, methods=["zero-shot"])
    again = [r | {"method": "rl", "seed": seed} for r in rows for seed in range(4)]
    once, often = modes(rows), modes(rows + again)
    pd.testing.assert_frame_equal(once, often)
    assert evidence(pd.DataFrame(rows + again))["asked"].sum() == 5 * evidence(pd.DataFrame(rows))["asked"].sum()


def test_copies_on_one_image_are_no_evidence():
    """Fifty failed near-copies about one image do not make a failure mode."""
    rows = [row(image_id=f"i{n}", question=q, correct=n % 3 > 0) for n in range(40)
            for q in ("Is there a red circle?", "What color is the circle?")]  # fmt: skip
    skills = {(r["image_id"], r["question"]): ["exist" if "there" in r["question"] else "color"] for r in rows}
    for copy in range(50):
        rows.append(row(image_id="i0", question=f"copy {copy}", correct=False))
        skills["i0", f"copy {copy}"] = ["count"]
    table = failure_modes(evidence(pd.DataFrame(rows)), skills, **CHOSEN).set_index("mode")
    assert table.loc["count", "rate"] == 1
    assert table.loc["count", "p"] == 1
    assert not table["failure_mode"].any()


def test_undecided_invalid_and_training_rows_are_no_evidence():
    kept = row(image_id="a", correct=False)
    rows = [kept, row(image_id="b", correct=None), row(image_id="c", valid=False), row(image_id="d", valid=None)]
    rows.append(row(image_id="e", phase="train", step=1))
    found = evidence(pd.DataFrame(rows))
    assert found.to_dict("records") == [
        {"image_id": "a", "question": kept["question"], "failed": 1.0, "asked": 1},
    ]


def test_rare_skills_are_not_tested_and_nothing_to_test_is_told():
    rows = rollouts(weak_at_counting, images=4)
    assert modes(rows, minimum=1000).empty
    with pytest.raises(ValueError, match="nothing can be tested"):
        failure_modes(evidence(pd.DataFrame(rows)), {}, **CHOSEN)


def test_the_score_test_by_hand():
    has = np.array([True, True, False, False])
    failed = np.array([1.0, 1.0, 0.0, 0.0])
    z, p = score_test(has, failed, np.array(["a", "b", "c", "d"]))
    assert z == pytest.approx(1 / np.sqrt(4 / 16))  # every image's share is 1/4
    assert p == pytest.approx(0.1476, abs=1e-4)  # Student's t, one degree of freedom
    assert score_test(has, np.ones(4), np.array(["a", "b", "c", "d"])) == (0.0, 1.0)


def test_the_score_test_holds_its_level_where_questions_come_in_copies():
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(400):
        images = np.repeat(np.arange(60), 8)
        pair = np.repeat(np.arange(240), 2)  # two by two the same question
        hard = rng.random(60)[images]
        failed = (rng.random(240)[pair] < 0.25 + 0.5 * hard).astype(float)
        small += score_test((rng.random(240) < 0.3)[pair], failed, images)[1] < 0.05
    assert small <= 32  # 20 expected; 32 is the 99.5 % quantile of Binomial(400, 0.05)


def test_universal_and_specific_skills():
    weak = modes(rollouts(weak_at_counting))
    even = modes(rollouts(evenly_weak))
    table = shared_skills({"one": weak, "two": even, "three": even}).set_index(["skill", "run"])
    assert table.loc[("count", "one"), "verdict"] == "specific"
    assert shared_skills({"one": weak, "two": weak})["verdict"].iloc[0] == "universal"
    assert set(shared_skills({"one": weak})["verdict"]) == {"untested elsewhere", "none"}
