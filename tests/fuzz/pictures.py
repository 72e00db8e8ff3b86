"""Image files: real ones of every format and kind of pixels, damaged."""

import io
from functools import cache

import numpy as np
from hypothesis import strategies as st
from PIL import Image
from vlmdx.images import ImageError, decode, from_png, png_bytes

from tests.fuzz.outcome import Outcome

MAX_PIXELS = 100_000


@cache
def photos() -> list[bytes]:
    """One small file per format and kind of pixels that the decode room has a rule for."""
    pixels = np.random.default_rng(0).integers(0, 256, (14, 18, 3), dtype=np.uint8)
    rgb = Image.fromarray(pixels)
    exif = Image.Exif()
    exif[0x0112] = 6
    deep = Image.fromarray(pixels[..., 0].astype(np.uint16) << 8)
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
