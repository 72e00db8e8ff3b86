"""What a stranger's data set may not do: leave its folder, unpack itself, fill the memory, run."""

import ast
import base64
import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import vlmdx
from PIL import Image
from vlmdx.datasets.records import DatasetError

from tests.fuzz.samples import BLINK_LINE, COCO, GQA_GRAPHS, GQA_QUESTIONS, JSON_LINE, SEED, VSR_LINE

GOOD = "a.png"
WAYS_OUT = ["../secret.png", "x/../../secret.png", "{outside}/secret.png", "link.png", "links/secret.png"]


@pytest.fixture
def inside(tmp_path):
    """A data set's folder with one good picture, and a picture beside the folder that links inside point to."""
    folder = tmp_path / "set"
    folder.mkdir()
    Image.new("RGB", (18, 14), "red").save(folder / GOOD)
    Image.new("RGB", (18, 14), "blue").save(tmp_path / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "links").symlink_to(tmp_path)
    return folder


def jsonl(folder, images):
    rows = [JSON_LINE | {"image": name, "id": f"n{k}"} for k, name in enumerate(images)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"file": folder / "rows.jsonl"}


def blink(folder, images):
    rows = [BLINK_LINE | {"image": name, "idx": f"n{k}"} for k, name in enumerate(images)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"file": folder / "rows.jsonl"}


def vsr(folder, images):
    (folder / "rows.jsonl").write_text("".join(json.dumps(VSR_LINE | {"image": name}) + "\n" for name in images))
    return {"file": folder / "rows.jsonl", "images": folder}


def coco(folder, images):
    photos = [{"id": k, "file_name": name, "width": 18, "height": 14} for k, name in enumerate(images, 1)]
    marks = [COCO["annotations"][0] | {"id": k, "image_id": k} for k in range(1, 1 + len(images))]
    # A second category in the last photo, so that the others lack one that is shown somewhere.
    marks.append(COCO["annotations"][0] | {"id": 99, "image_id": len(images), "category_id": 2})
    (folder / "i.json").write_text(json.dumps(COCO | {"images": photos, "annotations": marks}))
    return {"instances_file": folder / "i.json", "images": folder}


def seedbench(folder, images):
    questions = [SEED["questions"][0] | {"question_id": f"n{k}", "data_id": name} for k, name in enumerate(images)]
    (folder / "seed.json").write_text(json.dumps(SEED | {"questions": questions}))
    return {"file": folder / "seed.json", "images": folder}


def hf(folder, images):
    rows = [
        {"image": {"bytes": None, "path": name}, "question": "?", "options": ["a", "b"], "answer": 0} for name in images
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    return {"file": folder / "rows.parquet", "options": "options"}


@pytest.mark.parametrize("source", [jsonl, blink, vsr, coco, seedbench, hf], ids=lambda source: source.__name__)
def test_no_importer_reads_a_picture_outside_its_folder(source, inside, run):
    names = [name.format(outside=inside.parent) for name in WAYS_OUT]
    found = run(source.__name__, source(inside, [GOOD, *names]))
    assert {name.partition(":")[2] for name in found.images["image_id"].to_pylist()} == {GOOD}
    reasons = [said for said in found.rejected["reason"].to_pylist() if not said.startswith("no category is absent")]
    assert len(reasons) >= len(WAYS_OUT)
    assert all("leaves the data set's folder" in said or "is a link out of set/" in said for said in reasons), reasons


def test_gqa_and_mmvp_find_pictures_by_number_in_their_folder_only(inside, run, tmp_path):
    (inside / "MMVP Images").mkdir()
    (inside / "MMVP Images" / "1.jpg").symlink_to(tmp_path / "secret.png")
    Image.new("RGB", (18, 14)).save(inside / "MMVP Images" / "2.jpg")
    lines = [f"{k},What?,(a) cat (b) dog,(a)" for k in ("1", "2", "../../secret")]
    (inside / "Questions.csv").write_text("\n".join(["Index,Question,Options,Correct Answer", *lines]))
    found = run("mmvp", {"folder": inside})
    assert found.images["image_id"].to_pylist() == ["t:2.jpg"] and len(found.rejected) == 2

    questions = {key: entry | {"imageId": "../secret"} for key, entry in GQA_QUESTIONS.items()}
    graphs = GQA_GRAPHS | {"../secret": GQA_GRAPHS["i1"]}
    (tmp_path / "q.json").write_text(json.dumps(questions))
    (tmp_path / "g.json").write_text(json.dumps(graphs))
    with pytest.raises(DatasetError, match=r"3 set aside(.|\n)*is not in the images folder"):
        run("gqa", {"questions": tmp_path / "q.json", "scene_graphs": tmp_path / "g.json", "images": inside})


def test_archives_are_never_opened(inside, run):
    """An archive is no picture, and no code of the package could unpack one."""
    with zipfile.ZipFile(inside / "a.zip", "w") as archive:
        archive.write(inside / GOOD, GOOD)
    found = run("jsonl", jsonl(inside, [GOOD, "a.zip", "a.zip/a.png"]))
    assert len(found.items) == 1 and len(found.rejected) == 2
    with pytest.raises(DatasetError, match="folder"):
        run("mmvp", {"folder": inside / "a.zip"})
    unpackers = {"zipfile", "tarfile", "gzip", "bz2", "lzma", "zlib", "pickle", "marshal", "shelve"}
    package = Path(vlmdx.__file__).parent
    for path in [p for room in ("datasets", "images", "schema", "corruptions") for p in (package / room).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not unpackers & {*names, module.partition(".")[0]}, path
            called = node.func if isinstance(node, ast.Call) else None
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            assert name not in ("eval", "exec", "unpack_archive"), path


@pytest.mark.parametrize("kind", ["pixels", "bytes"])
def test_pictures_in_base64_and_in_parquet_are_bounded(kind, inside, run, monkeypatch):
    out = io.BytesIO()
    if kind == "pixels":  # a small file that would be large when decoded
        Image.new("1", (20_000, 10_000)).save(out, "PNG")
        said = "1 x image …: … pixels are more than max_pixels"
    else:  # a picture followed by more bytes than any accepted picture has
        Image.new("RGB", (18, 14)).save(out, "PNG")
        out.write(bytes(2**26 + 16 * 10**4))
        said = "1 x image …: … bytes are more than an image of max_pixels"
        monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("opened"))
    heavy = out.getvalue()
    text = base64.b64encode(heavy).decode()
    (inside / "m.tsv").write_text(f"index\tquestion\timage\tA\tB\tanswer\n1\t?\t{text}\tcat\tdog\tA\n")
    with pytest.raises(DatasetError, match=said):
        run("mmbench", {"file": inside / "m.tsv"}, max_pixels=10**4)
    rows = [{"image": {"bytes": heavy, "path": None}, "question": "?", "options": ["a", "b"], "answer": 0}]
    pq.write_table(pa.Table.from_pylist(rows), inside / "rows.parquet")
    with pytest.raises(DatasetError, match=said):
        run("hf", {"file": inside / "rows.parquet", "options": "options"}, max_pixels=10**4)
