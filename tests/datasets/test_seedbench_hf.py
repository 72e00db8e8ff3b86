"""The SEED-Bench importer and the one for Parquet with images inside."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.datasets.records import DatasetError


def question(number: int, case: str = "a", **more) -> dict:
    letters = "abcd" if case == "a" else "ABCD"
    choices = {f"choice_{letter}": f"word {i}" for i, letter in enumerate(letters)}
    return {"question_id": number, "question": "What?", "answer": "C", "data_id": "one.png", **choices, **more}


def test_seedbench_versions_videos_and_several_images(tmp_path, picture, run, reasons):
    picture("images/one.png")
    rows = [
        question(1, question_type_id=5, data_type="image"), question(2, "A", question_image_type="Chart"),
        question(3, data_type="video", segment=[1, 2]), question(4, data_id=["one.png", "two.png"]), 5,
        question(6, answer="E"), {k: v for k, v in question(7).items() if k != "choice_b"},
        question(8, question_type_id=[1]),
    ]  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps({"questions": rows, "question_type": {"Scene": 5}}))
    found = run("seedbench", {"file": tmp_path / "s.json", "images": tmp_path / "images"})
    assert [(r["item_id"], r["category"], r["answer"]) for r in found.items.to_pylist()] == [
        ("t:1", "Scene", 2), ("t:2", "Chart", 2), ("t:8", None, 2)
    ]  # fmt: skip
    told = reasons(found)
    for key, word in {
        "t:3": "video",
        "t:4": "several images",
        "5": "no JSON object",
        "t:6": "gold",
        "t:7": "gap",
    }.items():
        assert word in told[key]
    (tmp_path / "s.json").write_text("[]")
    with pytest.raises(DatasetError, match="not SEED-Bench"):
        run("seedbench", {"file": tmp_path / "s.json", "images": tmp_path / "images"})


IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def parquet(path, **columns) -> None:
    types = {"image": IMAGE, "choices": pa.list_(pa.string())}
    arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
    pq.write_table(pa.table(arrays), path)


def test_hf_list_column_bytes_and_paths(tmp_path, picture, run, reasons):
    content = picture("one.png").read_bytes()
    inside, beside, none = (
        {"bytes": content, "path": "x"},
        {"bytes": None, "path": "one.png"},
        {"bytes": None, "path": None},
    )
    parquet(
        tmp_path / "d.parquet",
        image=[inside, inside, beside, none, {"bytes": b"junk", "path": None}, None],
        question=["What?"] * 6,
        choices=[["cat", "dog", None]] * 6,
        answer=[0, 1, None, 0, 0, 0],
    )
    found = run("hf", {"file": tmp_path / "d.parquet", "options": "choices"})
    assert found.items["item_id"].to_pylist() == ["t:0", "t:1", "t:2"]
    assert found.items["answer"].to_pylist() == [0, 1, None] and len(found.images) == 2
    told = reasons(found)
    assert "no image" in told["t:3"] and "not an image" in told["t:4"] and "no image" in told["t:5"]


def test_hf_option_columns_and_shards(tmp_path, picture, run):
    content = picture("one.png").read_bytes()
    folder = tmp_path / "shards"
    folder.mkdir()
    for shard in range(2):
        parquet(
            folder / f"{shard}.parquet", img=[content] * 2, q=["What?"] * 2, a=["cat"] * 2, b=["dog"] * 2,
            c=[None, "owl"], gold=["A", "B"], key=[f"{shard}{i}" for i in range(2)],
        )  # fmt: skip
    mapping = {"options": ["a", "b", "c"], "image": "img", "question": "q", "answer": "gold", "id": "key"}
    found = run("hf", {"file": folder, **mapping})
    assert found.items["item_id"].to_pylist() == ["t:00", "t:01", "t:10", "t:11"]
    assert [len(o) for o in found.items["options"].to_pylist()] == [2, 3, 2, 3] and len(found.images) == 1
    with pytest.raises(DatasetError, match=r"no column \['nope'\]"):
        run("hf", {"file": folder, **mapping, "category": "nope"})
    (folder / "2.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match="not a readable Parquet"):
        run("hf", {"file": folder, **mapping})
