"""The trials of sections M and D that concern gold answers, and of I that end in an item table."""

import json

import numpy as np
import pytest
from PIL import Image
from vlmdx.datasets.gold import gold_index
from vlmdx.datasets.records import RowError
from vlmdx.images import from_png

EIGHT = [
    ("C", "letter"), ("c", "letter"), ("(C)", "letter"), ("C.", "letter"), ("2", "index"), (2, "index"), (3, "index1"),
    ("owl ", "text"),
]  # fmt: skip


def row(**more) -> dict:
    return {"image": "a.png", "question": "What is it?", "options": ["cat", "dog", "owl"], **more}


@pytest.mark.parametrize(("value", "form"), EIGHT)
def test_m04_one_item_eight_times(value, form, run, lines, picture):
    picture("a.png")
    found = run("jsonl", {"file": lines(row(answer=value)), "answer_form": form})
    assert found.items["answer"].to_pylist() == [2] and len(found.rejected) == 0


def test_m04_gold_7_gold_nothing_and_no_column(run, lines, picture, reasons):
    picture("a.png")
    found = run("jsonl", {"file": lines(row(answer=7, id="7"), row(answer="", id="none"), row(id="no column"))})
    assert found.items.to_pylist()[0]["answer"] is None and len(found.items) == 1
    assert all("is none of the 3 options" in reason for reason in reasons(found).values()) and len(reasons(found)) == 2


@pytest.mark.parametrize("reply", ["Yes, it shows a death notice", "notice", "No.", "y", "yes no"])
def test_m05_no_option_is_found_inside_another_text(reply):
    """Replies are never read by searching in them; a text is an option or it is not."""
    with pytest.raises(RowError, match="none of the 2 options"):
        gold_index(reply, ("yes", "no"), "text")


def test_m05_no_article_is_taken_off_a_letter():
    assert gold_index("A", ("a", "the"), "text") == 0
    assert gold_index("the", ("a", "the"), "text") == 1
    with pytest.raises(RowError):
        gold_index("", ("a", "the"), "text")


@pytest.mark.parametrize("prediction", ["cat", "Cats", "cat."])
def test_d04_an_article_plural_or_full_stop_is_another_text_on_both_sides(prediction):
    """Gold "the cat" is right for the option "the cat" only. A gold that hits no option is set aside, never wrong."""
    assert gold_index("the cat", ("a dog", "the cat"), "text") == 1
    assert gold_index(" The Cat", ("a dog", "the cat"), "text") == 1
    for gold, options in (("the cat", ("a dog", prediction)), (prediction, ("a dog", "the cat"))):
        with pytest.raises(RowError, match="none of the 2 options"):
            gold_index(gold, options, "text")


def test_d04_accents_and_full_width_letters_on_either_side():
    composed, decomposed = "café", "cafe\u0301"
    for gold, option in ((composed, decomposed), (decomposed, composed), ("\uff21", "A"), ("A", "\uff21")):
        assert gold_index(gold, ("tea", option), "text") == 1
    with pytest.raises(RowError, match="none of"):
        gold_index("cafe", ("tea", composed), "text")  # another word, in French as in English


@pytest.mark.parametrize("orientation", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_i01_a_phone_photo_is_upright_in_the_item_table(orientation, run, lines, tmp_path):
    """64 x 48, red left and blue right; tag 6 stands it up with red on top. Stored as PNG without any tag."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, :32], pixels[:, 32:] = (255, 0, 0), (0, 0, 255)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    found = run("jsonl", {"file": lines(row(answer=0))})
    [image] = found.images.to_pylist()
    stored = from_png(image["image"]["bytes"])
    turned = orientation in (5, 6, 7, 8)
    assert (image["width"], image["height"]) == ((48, 64) if turned else (64, 48)) == stored.shape[1::-1]
    red_first = orientation in (0, 1, 4, 5, 6, 9)
    first = stored[2, 24] if turned else stored[24, 2]
    assert first.tolist() == ([255, 0, 0] if red_first else [0, 0, 255])
    assert b"eXIf" not in image["image"]["bytes"]


def test_i04_a_second_import_decodes_and_rejects_the_same(run, lines, picture, tmp_path, reasons):
    whole = picture("ok.jpg", 128, 96).read_bytes()
    (tmp_path / "trunc.jpg").write_bytes(whole[: len(whole) * 6 // 10])
    file = lines(*[row(image=f"{name}.jpg", id=name) for name in ("ok", "trunc", "gone")])
    first, again = (run("jsonl", {"file": file}) for _ in range(2))
    assert first.items.equals(again.items) and first.rejected.equals(again.rejected)
    assert set(reasons(first)) == {"t:trunc", "t:gone"}
    assert json.dumps(first.summary.reasons, sort_keys=True) == json.dumps(again.summary.reasons, sort_keys=True)
