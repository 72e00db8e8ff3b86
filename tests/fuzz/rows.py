"""Rows of data sets: whatever stands in a source, each row becomes an item or is set aside with a reason."""

import base64
import csv
import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from vlmdx.datasets.driver import import_items
from vlmdx.datasets.records import DatasetError
from vlmdx.datasets.spill import Spill
from vlmdx.schema.tables import IMAGES

from tests.fuzz.documents import TEXT, changed, dumped
from tests.fuzz.outcome import Outcome
from tests.fuzz.pictures import MAX_PIXELS, PLAIN


@cache
def world() -> Path:
    """A folder with the one picture that all rows may refer to, under the names that the importers look for."""
    folder = Path(tempfile.mkdtemp(prefix="vlmdx-fuzz-"))
    for name in ("a.png", "000000000001.jpg", "000000000002.jpg", "i1.png", "MMVP Images/1.jpg"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PLAIN)
    return folder


def no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


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
        for text in filter(None, found.items["program"].to_pylist()):
            json.loads(text, parse_constant=no_json)
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
