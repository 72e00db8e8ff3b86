"""The generic JSON lines importer: every kind of bad row is one rejected row, the good ones go on."""

import json
import re

import pytest
from PIL import Image


def row(**changes) -> dict:
    base = {"image": "a.png", "question": "What is it?", "options": ["cat", "dog", "owl"], "answer": 1}
    return {k: v for k, v in {**base, **changes}.items() if v != "absent"}


def test_a_full_row(run, lines, picture):
    picture('sub/a b\'c "d" é {1}.jpg')
    program = [{"operation": "select", "dependencies": [], "argument": "cat (7)"}]
    objects = [
        {"name": "cat", "x": 60, "y": 1, "w": 20, "h": 4.5},
        {"object_id": "z", "name": "owl", "x": 0, "y": 0, "w": 1, "h": 1},
    ]
    more = {"category": "pets", "operation": "verify", "program": program, "objects": objects}
    path = lines(row(image='sub/a b\'c "d" é {1}.jpg', id=7, **more))
    found = run("jsonl", {"file": path}).items.to_pylist()
    assert found == [
        {
            "item_id": "t:7", "dataset": "t", "image_id": "t:sub/a b'c \"d\" é {1}.jpg", "question": "What is it?",
            "options": ["cat", "dog", "owl"], "answer": 1, "category": "pets", "operation": "verify",
            "program": json.dumps(program),
            "objects": [
                {"object_id": "0", "name": "cat", "x": 60, "y": 1, "w": 4, "h": 4.5},
                {"object_id": "z", "name": "owl", "x": 0, "y": 0, "w": 1, "h": 1},
            ],
        }
    ]  # fmt: skip


def test_m04_no_answer_is_null_and_forms_are_declared(run, lines, picture):
    picture("a.png")
    found = run("jsonl", {"file": lines(row(answer="absent"), row(answer=None), row(answer="C"))}).items
    assert found["answer"].to_pylist() == [None, None, 2]
    assert found["item_id"].to_pylist() == ["t:line-1", "t:line-2", "t:line-3"]
    shifted = run("jsonl", {"file": lines(row(answer=3), row(answer="1")), "answer_form": "index1"}).items
    assert shifted["answer"].to_pylist() == [2, 0]


BAD = {
    "unknown key 'answr'": row(answr=1),
    "missing options": row(options="absent"),
    "missing image": row(image="absent"),
    "does not exist": row(image="no.png"),
    "leaves the data set's folder": row(image="../a.png"),
    "1 options": row(options=["cat"]),
    "27 options": row(options=[str(i) for i in range(27)]),
    "no list": row(options="cat"),
    "the same: 'Dog '": row(options=["dog", "cat", "Dog "]),
    "option 1 is empty": row(options=["dog", ""]),
    "3 is no text": row(options=["dog", 3]),
    "none of the 3 options": row(answer=7),
    "none of the 3 options (read as": row(answer=""),
    "neither text nor a whole number": row(answer=1.0),
    "id [1]": row(id=[1]),
    "used before, at row '1'": row(id="ok"),
    "question is empty": row(question=" "),
    "None is no text": row(question=None),
    "operation 'count'": row(operation="count"),
    "no list of steps": row(program={"a": 1}),
    "covers nothing": row(objects=[{"name": "cat", "x": 900, "y": 0, "w": 5, "h": 5}]),
    "not of the form": row(objects=[{"name": "cat"}]),
    "four numbers": row(objects=[{"name": "cat", "x": "1", "y": 0, "w": 5, "h": 5}]),
    "no JSON line": '{"image": "a.png"',
    "no JSON object": "[1]",
    "stands twice": '{"image": "a.png", "image": "b.png"}',
    "not valid Unicode": '{"image": "a.png", "question": "\\ud800", "options": ["a", "b"]}',
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_row_is_set_aside_by_line_with_reason(reason, run, lines, picture):
    picture("a.png")
    found = run("jsonl", {"file": lines(row(id="ok"), BAD[reason], row(id="also"))})
    assert found.items["item_id"].to_pylist() == ["t:ok", "t:also"]
    [rejected] = found.rejected.to_pylist()
    assert (rejected["source"], rejected["position"]) == ("rows.jsonl", "2") and reason in rejected["reason"]


def test_m03_from_two_to_twenty_six_options_in_one_file(run, lines, picture, reasons):
    picture("a.png")
    rows = [row(id=f"n{n}", options=[f"word {i}" for i in range(n)], answer=0) for n in (1, 2, 5, 11, 26, 27, 30)]
    found = run("jsonl", {"file": lines(*rows)})
    assert [len(o) for o in found.items["options"].to_pylist()] == [2, 5, 11, 26]
    assert set(reasons(found)) == {"t:n1", "t:n27", "t:n30"}


def test_i04_ten_rows_with_five_broken_files(run, lines, picture, reasons, tmp_path):
    whole = picture("ok.jpg", 128, 96).read_bytes()
    (tmp_path / "trunc.jpg").write_bytes(whole[: len(whole) * 6 // 10])
    (tmp_path / "zero.jpg").write_bytes(b"")
    (tmp_path / "html.jpg").write_text("<html>429 Too Many Requests</html>")
    (tmp_path / "dir.jpg").mkdir()
    (tmp_path / "png_named.jpg").write_bytes(picture("x.png").read_bytes())
    names = ["ok", "trunc", "ok", "zero", "html", "ok", "dir", "png_named", "missing", "ok"]
    found = run("jsonl", {"file": lines(*[row(image=f"{name}.jpg") for name in names])})
    assert (len(found.items), len(found.images), len(found.rejected)) == (5, 2, 5)
    told = reasons(found)
    words = {2: "'trunc.jpg': .*truncated", 4: "empty", 5: "web page", 7: "regular file", 9: "does not exist"}
    for line, word in words.items():
        assert re.search(word, told[f"t:line-{line}"])


def test_i05_bomb_is_set_aside_with_its_size(run, lines, picture, reasons, tmp_path):
    picture("a.png")
    Image.new("1", (20000, 10000)).save(tmp_path / "bomb.png")
    found = run("jsonl", {"file": lines(row(), row(image="bomb.png"))})
    assert len(found.items) == 1 and "200000000 pixels" in reasons(found)["t:line-2"]


def test_two_paths_of_one_picture_stay_two_images(run, lines, picture):
    (picture("a.png").parent / "b.png").write_bytes(picture("a.png").read_bytes())
    found = run("jsonl", {"file": lines(row(), row(image="b.png"), row(image="./a.png"))})
    assert found.images["image_id"].to_pylist() == ["t:a.png", "t:b.png"]
    assert len(set(found.images["sha256"].to_pylist())) == 1
    assert found.items["image_id"].to_pylist() == ["t:a.png", "t:b.png", "t:a.png"]


def test_p07_a_program_that_json_cannot_say_is_set_aside(run, lines, picture, reasons):
    picture("a.png")
    texts = [
        json.dumps(row(id=f"n{k}", program=[{"argument": v}])) for k, v in enumerate((float("nan"), -float("inf"), 1))
    ]
    found = run("jsonl", {"file": lines(*texts, texts[2].replace("n2", "n3").replace("1}]", "1e999}]"))})
    assert found.items["item_id"].to_pylist() == ["t:n2"] and set(reasons(found)) == {"t:n0", "t:n1", "t:n3"}
    assert all("NaN or an infinity" in reason for reason in reasons(found).values())


@pytest.mark.parametrize(
    "key", ["program", "options", "question", "answer", "id", "image", "objects", "category", "other"]
)
def test_any_depth_of_brackets_is_a_reason_and_no_traceback(key, run, lines, picture):
    picture("a.png")
    depths = (*range(800, 1100, 10), 3000, 100_000)
    others = json.dumps(row(**{"id": "x", key: "absent"}))
    deep = [f'{{"{key}": {"[" * n + "]" * n}, {others[1:]}' for n in depths]
    found = run("jsonl", {"file": lines(row(id="ok"), *deep)})
    assert found.items["item_id"].to_pylist()[0] == "t:ok"
    assert len(found.items) + len(found.rejected) == 1 + len(depths)  # only a program may be that deep, up to a point
    assert len(found.items) == 1 or key == "program"
