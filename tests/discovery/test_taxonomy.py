"""The tree, the curriculum, and the rules' scripts from made-up rollouts to taxonomy.json."""

import json
import re

import pandas as pd
import pytest
from vlmdx.discovery.taxonomy import curriculum, question_skills
from vlmdx.schema import read_table, write_table
from vlmdx.schema.tables import PRIMITIVES, ROLLOUTS, SKILLS, VOCABULARY

from tests.discovery.made_up import GRAPH, embed, evenly_weak, rollouts, row, weak_at_counting
from tests.reliability.scripts import load, run

DRAWING = {"replicates": 200, "confidence": 0.95, "seed": 0}
PROMPTS = {"validity": "", "reference": "", "judge": "", "primitives": "{question}"}
ORACLE = {"dataset": "shapes", "verifier": {"kind": "oracle"}, "prompts": PROMPTS, "device": "cpu"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs, one of them with a planted weakness, through the scripts of primitives, vocabulary and taxonomy."""
    root = tmp_path_factory.mktemp("discovery")
    (root / "graphs.json").write_text(json.dumps({"a": GRAPH}))
    module, seen = load("vocabulary"), []
    for name, fails in (("weak", weak_at_counting), ("even", evenly_weak)):
        folder = root / name
        write_table(folder / "rollouts.parquet", rollouts(fails, run=name, seeds=(0, 1)), ROLLOUTS)
        given = {"rollouts": folder / "rollouts.parquet", "graphs": root / "graphs.json", "images": root / "none"}
        run("primitives", given, {"primitives": folder / "primitives.parquet"}, ORACLE, run=name)
        seen.append(folder / "primitives.parquet")
    assert module.Embedder  # the encoder is replaced by seeded directions: no weights in this test
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vlmdx.discovery.embedder.Embedder.__call__", lambda self, texts: embed(texts))
        run(
            "vocabulary",
            {"primitives": seen},
            {"vocabulary": root / "vocabulary.parquet", "stability": root / "stability.csv"},
            {"encoder": {}, "topics": {}, "seed": 0, "reseedings": 3},
        )
    for name in ("weak", "even"):
        classify(root, root / name, name)
    return root


def classify(root, folder, name):
    given = {key: root / name / f"{key}.parquet" for key in ("rollouts", "primitives")}
    given |= {"vocabulary": root / "vocabulary.parquet", "stability": root / "stability.csv"}
    made = {"taxonomy": "taxonomy.json", "skills": "skills.parquet", "failure_modes": "failure_modes.csv"}
    outputs = {key: folder / file for key, file in {**made, "curriculum": "curriculum.csv"}.items()}
    run("taxonomy", given, outputs, {"minimum": 10, "alpha": 0.05, **DRAWING}, run=name)


def test_the_taxonomy_names_the_planted_weakness_first_and_nothing_else_finds_one(made):
    weak, even = (json.loads((made / name / "taxonomy.json").read_text()) for name in ("weak", "even"))
    assert weak["failure_modes"][0]["mode"] == "count"
    assert weak["failure_modes"][0]["q"] < 0.001
    assert even["failure_modes"] == []
    assert weak["stability"]["adjusted_rand_min"] > 0.9
    table = pd.read_csv(made / "weak" / "failure_modes.csv")
    assert table["mode"][0] == "count"
    assert not table["failure_mode"][table["mode"] == "answer an open question"].any()


def test_the_tree_holds_every_primitive_once_with_its_counts(made):
    report = json.loads((made / "weak" / "taxonomy.json").read_text())
    leaves = [p for meta in report["meta_skills"] for skill in meta["skills"] for p in skill["primitives"]]
    needed = read_table(made / "weak" / "primitives.parquet", PRIMITIVES)["primitives"].to_pylist()
    assert sorted(p["name"] for p in leaves) == sorted({name for each in needed for name in each})
    rows = pd.DataFrame(rollouts(weak_at_counting, seeds=(0, 1)))
    held = rows[(rows["phase"] == "held-out") & (rows["valid"] == True)]  # noqa: E712
    counting = held[held["question"].str.startswith("How many")]
    distinct = counting.drop_duplicates(["image_id", "question"])
    leaf = next(p for p in leaves if p["name"] == "count")
    assert leaf["asked"] == len(counting)
    assert leaf["valid"] == len(distinct)
    assert leaf["failed"] == (distinct["correct"] == False).sum()  # noqa: E712
    assert leaf["failure_rate"] == pytest.approx(leaf["failed"] / leaf["valid"])
    for meta in report["meta_skills"]:
        assert meta["valid"] >= max(skill["valid"] for skill in meta["skills"])
        assert meta["valid"] <= sum(skill["valid"] for skill in meta["skills"])
    assert report["questions"]["distinct"] == len(held.drop_duplicates(["image_id", "question"]))


def test_the_same_bytes_twice(made, tmp_path):
    classify(made, tmp_path, "weak")
    for name in ("taxonomy.json", "failure_modes.csv", "curriculum.csv"):
        assert (tmp_path / name).read_bytes() == (made / "weak" / name).read_bytes()
    assert read_table(tmp_path / "skills.parquet", SKILLS) == read_table(made / "weak" / "skills.parquet", SKILLS)


def test_one_vocabulary_for_all_runs_and_no_question_is_lost(made):
    words = read_table(made / "vocabulary.parquet", VOCABULARY).to_pylist()
    for name in ("weak", "even"):
        needed = read_table(made / name / "primitives.parquet", PRIMITIVES).to_pylist()
        skills = read_table(made / name / "skills.parquet", SKILLS).to_pylist()
        assert [(r["image_id"], r["question"]) for r in skills] == [(r["image_id"], r["question"]) for r in needed]
        assert {s for r in skills for s in r["skills"]} <= {w["skill"] for w in words}


def test_questions_without_primitives_have_no_skills_and_strangers_are_refused():
    words = [{"primitive": "count", "skill": "counting"}, {"primitive": "count things", "skill": "counting"}]
    rows = [{"image_id": "a", "question": "q", "primitives": ["count", "count things"]},
            {"image_id": "a", "question": "r", "primitives": None}]  # fmt: skip
    assert question_skills(rows, words) == [{"image_id": "a", "question": "q", "skills": ["counting"]}]
    with pytest.raises(ValueError, match=re.escape("['smell']")):
        question_skills([{"image_id": "a", "question": "q", "primitives": ["smell"]}], words)


def test_the_curriculum_tells_the_first_exploited_step_of_each_skill():
    train = {"phase": "train", "method": "rl"}
    rows = [
        row(**train, step=1, question="A", image_id="1"),
        row(**train, step=2, question="A", image_id="2", correct=False),
        row(**train, step=3, question="A", image_id="1", correct=False),
        row(**train, step=1, question="B", image_id="1", correct=None),
        row(**train, step=4, question="B", image_id="1", valid=False),
        row(**train, step=5, question="C", image_id="9", correct=False),
    ]
    skills = {("1", "A"): ["count", "see"], ("2", "A"): ["count", "see"], ("1", "B"): ["tell"]}
    table = curriculum(pd.DataFrame(rows), skills).set_index("skill")
    assert list(table.index) == ["count", "see", "tell"]
    assert table.loc["count", ["valid", "failed", "first_asked", "first_step", "steps"]].tolist() == [3, 2, 1, 2, 5]
    assert pd.isna(table.loc["tell", "first_step"])
    assert table.loc["tell", "failed"] == 0


def test_a_run_without_training_has_an_empty_curriculum():
    table = curriculum(pd.DataFrame([row()]).query("phase == 'train'"), {})
    assert table.empty
    assert list(table.columns) == ["method", "seed", "skill", "valid", "failed", "first_asked", "first_step", "steps"]


def test_no_valid_question_is_told(tmp_path):
    write_table(tmp_path / "rollouts.parquet", [row(valid=False)], ROLLOUTS)
    with pytest.raises(ValueError, match="no question of toy was valid"):
        run(
            "primitives",
            {"rollouts": tmp_path / "rollouts.parquet"},
            {"out": tmp_path / "p.parquet"},
            ORACLE,
            run="toy",
        )
