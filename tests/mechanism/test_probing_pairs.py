"""Questions with one word changed, for the probes."""

import json
from collections import Counter

import pytest
from vlmdx.mechanism.grounding import SetAside
from vlmdx.mechanism.pairs import content_word, moved_round, reworded, word_pairs
from vlmdx.mechanism.tables import PAIRS
from vlmdx.schema import write_table


def item(number, question, *steps):
    program = [{"operation": o, "argument": a, "dependencies": list(d)} for o, a, *d in steps]
    return {
        "item_id": f"gqa:{number}",
        "image_id": f"gqa:i{number // 2}",
        "operation": "query",
        "question": question,
        "program": json.dumps(program),
    }


def colour(number, name):
    return item(number, f"What color is the {name}?", ("select", f"{name} (7)"), ("query", "color", 0))


def test_filter_before_relation_before_name():
    steps = [("select", "car (1)"), ("relate", "dog,to the left of,s (2)", 0)]
    question = "What is the red dog to the left of the car eating?"
    assert content_word(item(0, question, *steps, ("filter color", "red", 1)))[1] == "red"
    assert content_word(item(0, question, *steps))[1] == "to the left of"
    assert content_word(item(0, "What is the dog near the car eating?", *steps))[1] == "car"  # no such relation in it
    assert content_word(item(0, question, ("select", "car (1)")))[1] == "car"


@pytest.mark.parametrize(
    "given",
    [
        item(0, "Is there a dog?", ("select", "dog (-)"), ("exist", "?", 0)),
        item(0, "Is there a red dog?", ("select", "dog (-)"), ("filter color", "red", 0), ("exist", "?", 1)),
        item(0, "Is the dog on the left of the other dog?", ("select", "dog (1)"), ("verify rel", "dog,on,s (2)", 0)),
        item(0, "Which dogs are these?", ("select", "dog (1)"), ("query", "name", 0)),
    ],
)
def test_only_what_is_in_the_image_and_named_once_is_exchanged(given):
    with pytest.raises(SetAside):
        content_word(given)


def test_a_word_keeps_its_article_and_verb():
    """Words would be told apart by "a apple" or "are the dog", without a look at the image."""
    step = ("select", "apple (1)")
    assert content_word(item(0, "Is there an apple?", step))[0] == ("name", "an", "is")
    assert content_word(item(0, "Is the apple red?", step))[0] == ("name", "", "is")
    assert content_word(item(0, "Are the apples red?", ("select", "apples (1)")))[0] == ("name", "", "are")


@pytest.mark.parametrize(
    ("question", "changed"),
    [
        ("What color is the dog?", "Which color is the dog?"),
        ("Is there a dog in the image?", "Is there any dog in the image?"),
        ("Is the dog or the cat red?", "Is this dog or the cat red?"),
    ],
)
def test_function_words(question, changed):
    assert reworded(question) == changed


def test_a_question_without_function_words_has_no_pair():
    with pytest.raises(SetAside, match="function words"):
        reworded("Are dogs shown?")


@pytest.mark.parametrize("words", ["ab", "aab", "aaabbc", "abcabcddd", "aaaab", "aaaa", ""])
def test_every_word_is_given_as_often_as_it_is_taken(words):
    members = [(word, {"item_id": str(place)}) for place, word in enumerate(words)]
    given = moved_round(members, 0)
    taken = {item["item_id"]: word for word, item in members if item["item_id"] in given}
    assert all(given[i] != word for i, word in taken.items())
    assert Counter(given.values()) == Counter(taken.values())
    most = max(Counter(words).values(), default=0)
    assert len(given) == min(len(words), 2 * (len(words) - most))


def test_pairs_and_reasons(tmp_path):
    names = ("dog", "cat", "cow", "dog", "cat", "cow", "fox")
    items = [colour(number, name) for number, name in enumerate(names)]
    items += [item(7, "Is there a dog?", ("select", "dog (-)"), ("exist", "?", 0))]
    items += [item(8, "Is there an owl?", ("select", "owl (3)"), ("exist", "?", 0))]
    pairs, aside = word_pairs(items, 0)
    assert len(pairs) + len(aside) == len(items)
    reasons = dict(aside)
    assert "named just once" in reasons["gqa:7"] and "no other word" in reasons["gqa:8"]
    for pair in pairs:
        assert pair["sensitive"] == pair["clean"].replace(pair["word"], pair["other"]) != pair["clean"]
        assert pair["insensitive"].startswith("Which color")
    assert sum(pair["reworded_is_clean"] for pair in pairs) == len(pairs) // 2
    write_table(tmp_path / "pairs.parquet", pairs, PAIRS)
    assert word_pairs(items[::-1], 0) == (pairs, aside)
    assert word_pairs(items, 1)[0] != pairs


def test_a_word_that_the_question_has_already_is_not_put_in():
    steps = [("select", "dog (1)"), ("verify rel", "cat,near,s (2)", 0)]
    items = [item(0, "Is the dog near the cat?", *steps), item(1, "Is the cat red?", ("select", "cat (1)"))]
    pairs, aside = word_pairs(items, 0)
    assert [pair["item_id"] for pair in pairs] == ["gqa:1"] and "is in the question" in dict(aside)["gqa:0"]
