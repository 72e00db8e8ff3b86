"""What is fuzzed: a strategy that draws an input, and a check that feeds it to the product.

A check returns what became of the input, or raises: every exception but the product's own refusals is a finding, and so
is a refusal without words, a picture that is no picture, and a row that is neither an item nor set aside.
"""

import base64
import copy
import csv
import io
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ["TQDM_DISABLE"] = "1"  # read when tqdm is imported

import numpy as np
import yaml
from hypothesis import strategies as st
from PIL import Image
from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from vlmdx.config import ConfigError, load
from vlmdx.config.jobs import Jobs, faults
from vlmdx.config.root import DEMO
from vlmdx.datasets.driver import import_items
from vlmdx.datasets.records import DatasetError
from vlmdx.datasets.spill import Spill
from vlmdx.images import ImageError, decode, from_png, png_bytes
from vlmdx.schema.tables import IMAGES

ROOT = Path(__file__).parents[2]
MAX_PIXELS = 100_000


class Outcome(NamedTuple):
    """``kind``: accepted or refused; ``rows`` read, and how many of them became items."""

    kind: str
    rows: int = 0
    items: int = 0


class Target(NamedTuple):
    """An input space and its check; ``share`` of all inputs, in per cent."""

    share: int
    strategy: st.SearchStrategy
    check: Callable[..., Outcome]


# ---- pictures -----------------------------------------------------------------------------------------------------


@cache
def photos() -> list[bytes]:
    """One small file per format and kind of pixels that the decode room has a rule for."""
    pixels = np.random.default_rng(0).integers(0, 256, (14, 18, 3), dtype=np.uint8)
    rgb = Image.fromarray(pixels)
    exif = Image.Exif()
    exif[0x0112] = 6
    deep = Image.fromarray((pixels[..., 0].astype(np.uint16) << 8))
    frames = {"save_all": True, "append_images": [rgb.rotate(90)], "duration": 9, "loop": 0}
    kinds: list[tuple[Image.Image, str, dict]] = [
        *((rgb, name, {"exif": exif}) for name in ("JPEG", "PNG", "WEBP", "TIFF")),
        *((rgb, name, {}) for name in ("BMP", "PPM", "JPEG2000", "AVIF")),
        *((rgb, name, frames) for name in ("GIF", "WEBP", "PNG")),
        *((deep, name, {}) for name in ("PNG", "TIFF")),
        (rgb.convert("RGBA"), "PNG", {}),
        (rgb.convert("LA"), "PNG", {}),
        (rgb.convert("P"), "PNG", {"transparency": 3}),
        (rgb.convert("1"), "PNG", {}),
        (rgb.convert("CMYK"), "JPEG", {}),
        (rgb.convert("L").convert("F"), "TIFF", {}),
        (rgb.convert("L"), "JPEG", {"progressive": True}),
    ]
    files = []
    for image, name, options in kinds:
        out = io.BytesIO()
        image.save(out, name, **options)
        files.append(out.getvalue())
    return files


PLAIN = photos()[4]  # no orientation: boxes fit


@st.composite
def pictures(draw: st.DrawFn) -> bytes:
    """A real file with bytes overwritten, put in, taken out, cut off or doubled; or any bytes behind its first ones."""
    data = bytearray(draw(st.sampled_from(photos())))
    if draw(st.integers(0, 9)) == 0:
        return bytes(data[: draw(st.integers(0, 16))]) + draw(st.binary(max_size=64))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        what = draw(st.sampled_from(("set", "set", "insert", "remove", "cut", "double")))
        some = draw(st.binary(min_size=1, max_size=4))
        if what == "set":
            data[place : place + len(some)] = some
        elif what == "insert":
            data[place:place] = some
        elif what == "remove":
            del data[place : place + draw(st.integers(1, 9))]
        elif what == "cut":
            del data[place:]
        else:
            data[place:place] = data[place : place + 40]
    return bytes(data)


def check_picture(data: bytes) -> Outcome:
    """Decoded to upright RGB that survives its PNG, or refused in words."""
    try:
        found = decode(data, max_pixels=MAX_PIXELS)
    except ImageError as error:
        assert str(error).strip(), "a refusal without a reason"
        return Outcome("refused")
    assert found.rgb.dtype == np.uint8 and found.rgb.ndim == 3 and found.rgb.shape[2] == 3 and found.rgb.size
    assert found.rgb.shape[0] * found.rgb.shape[1] <= MAX_PIXELS and 1 <= found.orientation <= 8
    assert np.array_equal(from_png(png_bytes(found.rgb)), found.rgb)
    return Outcome("accepted")


# ---- rows ---------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=6) | st.sampled_from(
    ["a.png", "../a.png", "/etc/passwd", "A", "(b)", "yes", "1", "-1", "1e5", "nan", "\0", "\ud800", "\u202e", "{}", "'; DROP"]
)
NUMBERS = st.integers(-3, 30) | st.floats() | st.sampled_from([10**30, -(10**400), 2**31, 2**63, 0.5, 1e308])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, here: tuple = ()) -> list[tuple]:
    """Paths to every value in a JSON document, its own empty one among them."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, each in inside for path in places(each, (*here, key)))]


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """A copy of ``document`` with up to four values replaced, removed, moved or named in another way."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 4))):
        found = [path for path in places(document) if path]
        if not found:
            break
        *way, key = draw(st.sampled_from(found))
        holder = document
        for step in way:
            holder = holder[step]
        what = draw(st.sampled_from(("replace", "replace", "remove", "rename", "copy")))
        if what == "remove":
            del holder[key]
        elif what == "rename" and isinstance(holder, dict):
            holder[draw(TEXT)] = holder.pop(key)
        elif what == "copy" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[key] = draw(VALUES)
    return document


def dumped(document: Any) -> bytes:
    """JSON text, with whatever Python writes for NaN, and lone surrogates as escapes."""
    return json.dumps(document).encode()


JSON_LINE = {
    "image": "a.png",
    "question": "What?",
    "options": ["cat", "dog", "owl"],
    "answer": 0,
    "id": "one",
    "category": "k",
    "operation": "verify",
    "program": [{"operation": "select", "dependencies": [], "argument": "cat (1)"}],
    "objects": [{"object_id": "1", "name": "cat", "x": 1, "y": 1, "w": 4, "h": 4}],
}
BLINK_LINE = {"idx": "v1", "image": "a.png", "question": "?", "choices": ["yes", "no"], "answer": "(A)", "sub_task": "s"}
VSR_LINE = {"image": "000000000001.jpg", "caption": "The cat is under the car.", "label": 1, "relation": "under"}
COCO = {
    "images": [{"id": n, "file_name": f"00000000000{n}.jpg", "width": 18, "height": 14} for n in (1, 2)],
    "annotations": [
        {"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 2, 5, 6], "iscrowd": 0},
        {"id": 8, "image_id": 1, "category_id": 2, "bbox": [3, 1, 5, 6]},
        {"id": 9, "image_id": 2, "category_id": 3, "bbox": [3, 1, 5, 6]},
    ],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "car"}, {"id": 3, "name": "bed"}],
}
SEED = {
    "questions": [
        {
            "question_id": f"{n}",
            "data_id": "a.png",
            "question": "?",
            "answer": "B",
            "question_type_id": 1,
            "data_type": "image",
            **{f"choice_{c}": f"word {c}{n}" for c in "abcd"},
        }
        for n in range(2)
    ],
    "question_type": {"Scene": 1},
}
GQA_QUESTIONS = {
    f"q{n}": {
        "question": "What color is the bed?",
        "imageId": "i1",
        "answer": color,
        "semantic": [
            {"operation": "select", "dependencies": [], "argument": "bed (11)"},
            {"operation": "query", "dependencies": [0], "argument": "color"},
        ],
        "types": {"semantic": "attr", "structural": "query", "detailed": "color"},
        "annotations": {"question": {"4": "11"}, "answer": {}, "fullAnswer": {}},
    }
    for n, color in enumerate(("red", "blue", "green"))
}
GQA_GRAPHS = {
    "i1": {
        "width": 18,
        "height": 14,
        "objects": {"11": {"name": "bed", "x": 1, "y": 1, "w": 9, "h": 9, "attributes": ["red"], "relations": []}},
    }
}


@cache
def world() -> Path:
    """A folder with the one picture that all rows may refer to, under the names that the importers look for."""
    folder = Path(tempfile.mkdtemp(prefix="vlmdx-fuzz-"))
    for name in ("a.png", "000000000001.jpg", "000000000002.jpg", "i1.png", "MMVP Images/1.jpg"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PLAIN)
    return folder


def run_import(importer: str, options: dict[str, Any], expected: int | None) -> Outcome:
    """Import; every row must be accounted for, and ``expected`` of them must have been read where that is known."""
    options = {key: str(value) for key, value in options.items()}
    with Spill(IMAGES, world() / "spill") as spill:
        try:
            found = import_items("t", importer, options, seed=0, max_pixels=MAX_PIXELS, spill=spill)
        except DatasetError as error:
            assert str(error).strip(), "a refusal without a reason"
            return Outcome("refused")
        said = found.summary
        assert said.read == len(found.items) + len(found.rejected) + said.undrawn, "a row is unaccounted for"
        assert expected is None or said.read == expected, f"{expected} rows were given, {said.read} were read"
        assert all(reason.strip() for reason in found.rejected["reason"].to_pylist()), "a reject without a reason"
        assert set(found.items["image_id"].to_pylist()) == set(found.images["image_id"].to_pylist())
        return Outcome("accepted", said.read, len(found.items))


def written(name: str, content: bytes) -> Path:
    (world() / name).write_bytes(content)
    return world() / name


@st.composite
def lines_of(draw: st.DrawFn, line: dict[str, Any]) -> bytes:
    """Up to three changed lines, and now and then bytes that are no JSON."""
    lines = [dumped(draw(changed(line))) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.integers(0, 4)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.binary(max_size=30)))
    return draw(st.sampled_from((b"", b"\xef\xbb\xbf"))) + draw(st.sampled_from((b"\n", b"\r\n", b"\n\n"))).join(lines)


def count_lines(content: bytes) -> int:
    return sum(bool(line.strip()) for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"))


def check_jsonl(content: bytes) -> Outcome:
    """Generic JSON lines."""
    return run_import("jsonl", {"file": written("rows.jsonl", content)}, count_lines(content))


def check_blink(content: bytes) -> Outcome:
    """BLINK lines."""
    return run_import("blink", {"file": written("rows.jsonl", content)}, count_lines(content))


def check_vsr(given: tuple[bytes, Any]) -> Outcome:
    """VSR lines with COCO instances."""
    content, coco = given
    options = {"file": written("vsr.jsonl", content), "images": world()}
    return run_import(
        "vsr", {**options, "instances_file": written("instances.json", dumped(coco))}, count_lines(content)
    )


def check_coco(document: Any) -> Outcome:
    """COCO instances as a data set."""
    return run_import("coco", {"instances_file": written("instances.json", dumped(document)), "images": world()}, None)


def check_seedbench(document: Any) -> Outcome:
    """SEED-Bench JSON."""
    questions = document.get("questions")
    count = len(questions) if isinstance(questions, list) else None
    return run_import("seedbench", {"file": written("seed.json", dumped(document)), "images": world()}, count)


def check_gqa(given: tuple[Any, Any]) -> Outcome:
    """GQA questions with scene graphs."""
    questions, graphs = given
    options = {"questions": written("q.json", dumped(questions)), "scene_graphs": written("g.json", dumped(graphs))}
    return run_import("gqa", {**options, "images": world()}, len(questions))


CELLS = TEXT.map(lambda text: text.encode("utf-8", "replace").decode()) | st.sampled_from(
    ["cat", "dog", "two\nlines", 'say "x"', "tab\there", "O'Neil", "1", "1000001", "B", "\r", "x" * 80]
)


@st.composite
def tables(draw: st.DrawFn, header: list[str], good: list[str], delimiter: str) -> tuple[bytes, int | None]:
    """Rows of changed cells, and how many there are; None where raw bytes follow, whose rows cannot be told."""
    rows = [list(good) for _ in range(draw(st.integers(1, 3)))]
    for row in rows:
        for _ in range(draw(st.integers(0, 3))):
            row[draw(st.integers(0, len(row) - 1))] = draw(CELLS)
        if draw(st.integers(0, 9)) == 0:
            row.append(draw(CELLS))
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([header, *rows])
    content = draw(st.sampled_from((b"", b"\xef\xbb\xbf"))) + out.getvalue().encode()
    noise = draw(st.none() | st.none() | st.binary(min_size=1, max_size=30))
    return (content, len(rows)) if noise is None else (content + noise, None)


def mmbench_rows() -> st.SearchStrategy:
    """MMBench TSV."""
    photo = base64.b64encode(PLAIN).decode()
    header = ["index", "question", "hint", "A", "B", "C", "answer", "category", "image"]
    return tables(header, ["1", "What?", "", "cat", "dog", "", "B", "k", photo], "\t")


def check_mmbench(given: tuple[bytes, int | None]) -> Outcome:
    """MMBench TSV."""
    content, count = given
    return run_import("mmbench", {"file": written("m.tsv", content)}, count)


def mmvp_rows() -> st.SearchStrategy:
    """MMVP's Questions.csv."""
    header = ["Index", "Question", "Options", "Correct Answer"]
    return tables(header, ["1", "What?", "(a) cat (b) dog", "(a)"], ",")


def check_mmvp(given: tuple[bytes, int | None]) -> Outcome:
    """MMVP's Questions.csv."""
    content, count = given
    written("Questions.csv", content)
    return run_import("mmvp", {"folder": world()}, count)


# ---- config -------------------------------------------------------------------------------------------------------


@st.composite
def configs(draw: st.DrawFn) -> str:
    """YAML of the embedded default with values changed; now and then with characters changed as well."""
    base = {**copy.deepcopy(DEMO), "scoring": {"device": "cpu"}, "reliability": {"bootstrap": 200}}
    text = yaml.safe_dump(json.loads(json.dumps(draw(changed(base)))), allow_unicode=draw(st.booleans()))
    if draw(st.integers(0, 2)) == 0:
        for _ in range(draw(st.integers(1, 3))):
            place = draw(st.integers(0, len(text)))
            some = draw(TEXT | st.sampled_from(["- ", ": ", "\n", "{", "]", "&a ", "*a", "!!python/name:os.system ", "# ", "? "]))
            text = text[:place] + some + text[place + draw(st.integers(0, 3)) :]
    return text


def check_config(text: str) -> Outcome:
    """Read as Snakemake reads it, validated, and asked for what only the file system can tell."""
    try:
        raw = load_configfile(written("config.yaml", text.encode("utf-8", "replace")))
    except WorkflowError:
        return Outcome("refused")
    try:
        config = load(raw)
    except ConfigError as error:
        lines = str(error).splitlines()
        assert lines and all(line.startswith("config") for line in lines), lines
        return Outcome("refused")
    assert load(config.model_dump()) == config, "the resolved config does not load as itself"
    found = faults(config, Jobs(config, ROOT).here)
    assert all(line.startswith("config: ") and "\n" not in line for line in found), found
    return Outcome("refused" if found else "accepted")


TARGETS = {
    "pictures": Target(30, pictures(), check_picture),
    "jsonl": Target(12, lines_of(JSON_LINE), check_jsonl),
    "blink": Target(5, lines_of(BLINK_LINE), check_blink),
    "vsr": Target(6, st.tuples(lines_of(VSR_LINE), changed(COCO)), check_vsr),
    "coco": Target(6, changed(COCO), check_coco),
    "seedbench": Target(7, changed(SEED), check_seedbench),
    "gqa": Target(7, st.tuples(changed(GQA_QUESTIONS), changed(GQA_GRAPHS)), check_gqa),
    "mmbench": Target(8, mmbench_rows(), check_mmbench),
    "mmvp": Target(4, mmvp_rows(), check_mmvp),
    "config": Target(15, configs(), check_config),
}
