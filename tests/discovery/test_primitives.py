"""Stage 1 of the taxonomy: abilities read off the oracle's query, or asked of a prompted verifier."""

import pytest
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.primitives import question_primitives, read_primitives
from vlmdx.discovery.prompted import PromptedVerifier, Reply, Unreadable, VerifierPrompts
from vlmdx.schema import write_table
from vlmdx.schema.tables import PRIMITIVES

from tests.discovery.fakes import BLANK, FakeVerifier
from tests.discovery.made_up import GRAPH, QUESTIONS


def test_the_oracle_reads_them_off_without_a_model_or_an_image(tmp_path):
    asked = [(image, text) for text in QUESTIONS for image in ("a", "b", "a")]
    rows = question_primitives(Oracle({"a": GRAPH, "b": GRAPH}), "unused", asked, lambda _: pytest.fail("no image"))
    assert [(r["image_id"], r["question"]) for r in rows] == sorted(set(asked))
    found = {r["question"]: r["primitives"] for r in rows}
    assert found["How many red objects are there?"] == ["count", "pick out by color"]
    assert found["Is the circle to the left of the square?"] == [
        "confirm or deny",
        "recognise a named thing",
        "tell left from right",
    ]
    write_table(tmp_path / "primitives.parquet", rows, PRIMITIVES)


def test_each_text_is_asked_once_and_what_cannot_be_read_is_set_aside():
    prompts, seen = [], []

    def ask(texts, images, read):
        prompts.extend(texts)
        said = {
            "about A?": '```json\n{"primitives": ["Count  objects.", "count objects", "See color"]}\n```',
            "about B?": "counting",
        }
        return [Reply(None, "no connection") if t not in said else Reply(said[t]) for t in texts]

    verifier = PromptedVerifier(ask, VerifierPrompts("", "", ""))
    asked = [("2", "A?"), ("1", "A?"), ("1", "B?"), ("3", "C?")]
    rows = question_primitives(verifier, "about {question}", asked, lambda i: seen.append(i) or BLANK)
    assert prompts == ["about A?", "about B?", "about C?"]
    assert seen == ["1", "1", "3"]
    assert [(r["image_id"], r["question"], r["primitives"]) for r in rows] == [
        ("1", "A?", ["count objects", "see color"]),
        ("1", "B?", None),
        ("2", "A?", ["count objects", "see color"]),
        ("3", "C?", None),
    ]
    assert "no JSON" in rows[1]["reason"]
    assert rows[3]["reason"] == "no connection"
    assert rows[0]["reason"] is None


@pytest.mark.parametrize(
    "reply",
    [
        '{"primitives": []}',
        '{"primitives": ["a", 2]}',
        '{"primitives": ["a", " . "]}',
        '{"primitives": ["a"], "more": 1}',
        '{"primitives": "count"}',
        '["count"]',
        '{"primitives": ["1", "2", "3", "4", "5", "6", "7"]}',
    ],
)
def test_other_replies_are_unreadable(reply):
    with pytest.raises(Unreadable):
        read_primitives(reply)


def test_a_verifier_that_cannot_say_is_refused():
    with pytest.raises(TypeError, match="FakeVerifier"):
        question_primitives(FakeVerifier(), "{question}", [("a", "A?")], lambda _: BLANK)
