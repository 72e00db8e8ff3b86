"""Seeded fuzzing: any bytes are an item or a rejected row, an image that is decoded or refused."""

import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from vlmdx.datasets.driver import import_items
from vlmdx.datasets.records import DatasetError
from vlmdx.datasets.spill import Spill
from vlmdx.images import ImageError, decode
from vlmdx.schema.tables import IMAGES

bounded = settings(
    max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def _photo(format_: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format_, **({"exif": exif} if format_ in ("JPEG", "PNG", "WEBP", "TIFF") else {}))
    return out.getvalue()


PHOTOS = {name: _photo(name) for name in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM")}


@bounded
@given(
    st.sampled_from(sorted(PHOTOS)),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6),
    st.data(),
)
def test_damaged_images_are_decoded_or_refused(format_, changes, data):
    damaged = bytearray(PHOTOS[format_])
    for place, value in changes:
        damaged[place % len(damaged)] = value
    cut = data.draw(st.integers(0, len(damaged)))
    try:
        found = decode(bytes(damaged[: len(damaged) - cut]), max_pixels=10**6)
    except ImageError as error:
        assert str(error)
    else:
        assert found.rgb.dtype == np.uint8 and found.rgb.ndim == 3 and found.rgb.shape[2] == 3 and found.rgb.size


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"])
def test_i04_an_image_cut_short_anywhere_is_never_filled(format_):
    whole = PHOTOS[format_]
    pixels = decode(whole, max_pixels=10**6).rgb
    for length in range(len(whole)):
        try:
            found = decode(whole[:length], max_pixels=10**6)
        except ImageError:
            continue
        assert np.array_equal(found.rgb, pixels)  # only trailing bytes without pixels were missing


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "(b)", "a.png"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
GOOD = {"image": "a.png", "question": "What?", "options": ["cat", "dog"], "answer": 0}
keys = st.sampled_from(
    ["image", "question", "options", "answer", "id", "category", "operation", "program", "objects", "x"]
)


def _import(importer: str, name: str, content: bytes) -> tuple[int, int]:
    """Rows read and items; the driver itself fails if a row is lost."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.png").write_bytes(PHOTOS["PNG"])
        (Path(folder) / name).write_bytes(content)
        with Spill(IMAGES, Path(folder)) as spill:
            options = {"file": str(Path(folder) / name)}
            found = import_items("t", importer, options, seed=0, max_pixels=10**6, spill=spill)
            return found.summary.read, found.summary.items


@bounded
@given(st.dictionaries(keys, values, max_size=3), st.binary(max_size=20))
def test_any_json_line_is_an_item_or_a_rejected_row(changes, noise):
    noise = noise.replace(b"\n", b"")
    lines = [json.dumps(GOOD).encode(), json.dumps({**GOOD, **changes}).encode(), noise]
    read, items = _import("jsonl", "r.jsonl", b"\n".join(lines))
    assert read == 2 + bool(noise.strip()) and 1 <= items <= 2


@bounded
@given(st.binary(max_size=60), st.lists(st.text(max_size=9), min_size=5, max_size=7))
def test_any_tsv_row_is_an_item_or_a_rejected_row(noise, cells):
    import base64

    head = "index\tquestion\tA\tB\timage\n"
    good = f"1\tWhat?\tcat\tdog\t{base64.b64encode(PHOTOS['PNG']).decode()}\n"
    body = "\t".join(cells).encode("utf-8", "replace") + b"\n" + noise
    read, items = _import("mmbench", "m.tsv", head.encode() + good.encode() + body)
    assert read >= items >= 1


@bounded
@given(st.binary(max_size=200))
def test_any_questions_file_is_refused_as_a_whole_or_read(noise):
    from vlmdx.datasets.source import json_entries

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.json"
        path.write_bytes(b"{" + noise)
        try:
            list(json_entries(path))
        except DatasetError as error:
            assert "q.json" in str(error)
