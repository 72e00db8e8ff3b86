"""What a model answers before anything is changed in it, and how many of those questions are dissected."""

from vlmdx.mechanism import asked as module
from vlmdx.mechanism.asked import UNDRAWN, as_dissected, ask_all, sampling, undrawn
from vlmdx.mechanism.run import run

from tests.mechanism.test_run import IMAGES, SETTINGS, TEMPLATE, item

KEYS = {"template": TEMPLATE, "batch_tokens": 150}
MANY = [str(number) for number in range(27)]  # more options than letters


def test_the_clean_pass_and_the_dissection_agree_on_what_is_right(llava, tmp_path):
    items = [item(number, question="what is the dog " * (1 + number)) for number in range(6)]
    asked = ask_all(llava, items, IMAGES, tmp_path / "asked", **KEYS).to_pylist()
    found = run(llava, items, IMAGES, tmp_path / "parts", **SETTINGS)
    assert as_dissected(items, found) == asked
    assert {row["correct"] for row in asked} == {True, False}


def test_a_question_that_cannot_be_asked_has_its_reason_and_is_not_drawn(llava, tmp_path):
    items = [item(0), item(1), item(2, options=MANY)]
    asked = ask_all(llava, items, IMAGES, tmp_path, **KEYS).to_pylist()
    assert [row["correct"] is None for row in asked] == [False, False, True]
    left = undrawn(asked, items[:1], "query")
    assert [row["item_id"] for row in left] == ["gqa:1", "gqa:2"]
    assert left[0]["reason"] == UNDRAWN and "more than 26 options" in left[1]["reason"]


def test_a_killed_clean_pass_asks_only_what_it_had_not_asked(llava, tmp_path, monkeypatch):
    items = [item(number) for number in range(5)]
    monkeypatch.setattr(module, "CHUNK", 2)
    whole = ask_all(llava, items, IMAGES, tmp_path, **KEYS)
    chunks, plain = [], module._chunk
    monkeypatch.setattr(
        module, "_chunk", lambda adapter, chunk, *rest: chunks.append(chunk) or plain(adapter, chunk, *rest)
    )
    assert ask_all(llava, items, IMAGES, tmp_path, **KEYS).equals(whole) and not chunks
    changed = [*items[:4], item(4, question="what color is the cat")]
    ask_all(llava, changed, IMAGES, tmp_path, **KEYS)
    assert chunks == [changed[4:]]


def test_sampling_counts_both_answers():
    rows = [("a", "exist", "yes", True), ("b", "exist", "yes", False), ("c", "exist", "no", None)]
    rows += [("d", "query", "red", True), ("e", "query", "red", True), ("f", "verify", "no", None)]
    items = [{"item_id": i, "operation": o, "options": [a, "blue"], "answer": 0} for i, o, a, _ in rows]
    items += [{"item_id": "g", "operation": "query", "options": ["red", "blue"], "answer": None}]
    asked = [{"item_id": i, "correct": c} for i, _, _, c in rows if c is not None]
    table = sampling("qwen", items, asked, ["a", "d"])
    keys = ["operation", "answer", "questions", "asked", "right", "wrong", "dissected_right", "dissected_wrong"]
    assert table[keys].to_numpy().tolist() == [
        ["exist", "yes", 2, 2, 1, 1, 1, 0],
        ["exist", "no", 1, 0, 0, 0, 0, 0],
        ["query", "other", 2, 2, 2, 0, 1, 0],
    ]
    assert set(table["model"]) == {"qwen"}
