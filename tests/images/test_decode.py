"""The decode room: every case of its table, on files made here."""

import io

import numpy as np
import pytest
from PIL import Image, ImageFile
from vlmdx.images import ImageError, decode, decode_file, from_png, pixel_sha256, png_bytes

LIMIT = 50_000_000
RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def halves(width=64, height=48) -> Image.Image:
    """Left red, right blue."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2], pixels[:, width // 2 :] = RED, BLUE
    return Image.fromarray(pixels)


def noise(width, height, seed=0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def saved(image: Image.Image, format_: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, format_, **options)
    return out.getvalue()


def tagged(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def rgb(data: bytes) -> np.ndarray:
    return decode(data, max_pixels=LIMIT).rgb


# What the four corners (top left, top right, bottom left, bottom right) of a file with corners 0 1 2 3 show upright.
CORNERS = {
    1: (0, 1, 2, 3),
    2: (1, 0, 3, 2),
    3: (3, 2, 1, 0),
    4: (2, 3, 0, 1),
    5: (0, 2, 1, 3),
    6: (2, 0, 3, 1),
    7: (3, 1, 2, 0),
    8: (1, 3, 0, 2),
}


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_i01_exif_orientation_applied_once(format_, orientation):
    grey = (10, 90, 170, 250)
    quarters = np.repeat(np.repeat(np.array(grey, np.uint8).reshape(2, 2), 16, 0), 24, 1)
    quarters = np.repeat(quarters[:, :, None], 3, 2)
    found = decode(saved(Image.fromarray(quarters), format_, exif=tagged(orientation)), max_pixels=LIMIT)
    assert found.orientation == orientation
    assert found.rgb.shape == ((48, 32, 3) if orientation >= 5 else (32, 48, 3))
    corners = [found.rgb[4, 4, 0], found.rgb[4, -4, 0], found.rgb[-4, 4, 0], found.rgb[-4, -4, 0]]
    assert np.allclose(corners, [grey[c] for c in CORNERS[orientation]], atol=6)
    again = decode(png_bytes(found.rgb), max_pixels=LIMIT)  # no tag is left that could turn it twice
    assert again.orientation == 1 and np.array_equal(again.rgb, found.rgb)


def test_i01_red_half_of_tag_6_is_on_top():
    found = rgb(saved(halves(64, 48), "JPEG", exif=tagged(6), quality=95))
    assert found.shape == (64, 48, 3)
    assert found[:20, :, 0].min() > 200 and found[-20:, :, 2].min() > 200


@pytest.mark.parametrize(
    "exif", [tagged(0), tagged(9), b"Exif\x00\x00garbage" * 9, b"Exif\x00\x00II*\x00\xff\xff\xff\xff"]
)
def test_i01_meaningless_orientation_leaves_pixels(exif):
    found = decode(saved(halves(), "JPEG", exif=exif, quality=95), max_pixels=LIMIT)
    assert found.orientation == 1 and found.rgb.shape == (48, 64, 3) and found.rgb[24, 4, 0] > 200


@pytest.mark.parametrize("format_", ["PNG", "TIFF", "PPM"])
def test_i02_sixteen_bit_grey_keeps_its_levels(format_):
    ramp = np.repeat((np.arange(256, dtype=np.uint16) * 257)[None, :], 64, 0)
    found = rgb(saved(Image.fromarray(ramp), format_))
    assert np.array_equal(found[5, :, 1], np.arange(256))


def test_i02_big_endian_tiff():
    ramp = np.repeat((np.arange(256, dtype=np.uint16) * 257)[None, :], 64, 0)
    image = Image.frombytes("I;16B", (256, 64), ramp.astype(">u2").tobytes())
    data = saved(image, "TIFF")
    assert data[:2] == b"MM" and decode(data, max_pixels=LIMIT).mode == "I;16B"
    assert np.array_equal(rgb(data)[0, :, 0], np.arange(256))


@pytest.mark.parametrize(("mode", "word"), [("I", "integer"), ("F", "float")])
def test_i02_pixels_without_a_range_are_refused(mode, word):
    with pytest.raises(ImageError, match=word):
        rgb(saved(Image.new(mode, (8, 8), 7), "TIFF"))


def test_i03_transparent_shows_the_background():
    hidden = np.zeros((48, 64, 4), np.uint8)
    hidden[..., 0] = 255
    assert (rgb(saved(Image.fromarray(hidden), "PNG")) == 255).all()
    assert (rgb(saved(Image.fromarray(hidden), "WEBP", lossless=True, exact=True)) == 255).all()
    grey_alpha = Image.merge("LA", [Image.new("L", (64, 48), 90), Image.new("L", (64, 48), 0)])
    assert (rgb(saved(grey_alpha, "PNG")) == 255).all()
    half = Image.new("RGBA", (4, 4), (0, 0, 0, 128))
    assert (abs(rgb(saved(half, "PNG")).astype(int) - 127) <= 1).all()


def test_i03_palette_and_transparent_colour():
    palette = halves().convert("P")
    found = rgb(saved(palette, "PNG", transparency=palette.getpixel((0, 0))))
    assert (found[:, :32] == 255).all() and (found[:, 32:] == BLUE).all()
    found = rgb(saved(halves(), "PNG", transparency=RED))
    assert (found[:, :32] == 255).all() and (found[:, 32:] == BLUE).all()
    grey = Image.fromarray(np.repeat(np.array([[5, 9]], np.uint8), 4, 0))
    assert rgb(saved(grey, "PNG", transparency=5))[0, :, 0].tolist() == [255, 9]
    deep = Image.fromarray(np.array([[256, 512]], np.uint16))
    assert rgb(saved(deep, "PNG", transparency=256))[0, :, 0].tolist() == [255, 2]


def test_i03_orientation_and_transparency_together():
    palette = halves().convert("P")
    data = saved(palette, "PNG", transparency=palette.getpixel((0, 0)), exif=tagged(6))
    assert (rgb(data)[:32] == 255).all() and (rgb(data)[32:] == BLUE).all()


@pytest.mark.parametrize(
    ("mode", "format_"),
    [("1", "PNG"), ("L", "PNG"), ("P", "PNG"), ("CMYK", "TIFF"), ("CMYK", "JPEG"), ("YCbCr", "TIFF"), ("LAB", "TIFF")],
)
def test_i03_other_modes_become_three_channels(mode, format_):
    image = halves().convert("L" if mode == "LAB" else mode)
    if mode == "LAB":  # Pillow makes none from RGB: L* from grey, a* = b* = 0 stored as 128
        image = Image.merge("LAB", [image, *[Image.new("L", image.size, 128)] * 2])
    data = saved(image, format_)
    found = decode(data, max_pixels=LIMIT)
    assert found.mode == mode and found.rgb.shape == (48, 64, 3) and found.rgb.dtype == np.uint8
    assert found.rgb[:, :32, 0].mean() > found.rgb[:, 32:, 0].mean() + 30  # red is lighter than blue, in red


@pytest.mark.parametrize("format_", ["GIF", "WEBP", "PNG", "TIFF"])
def test_i03_first_frame_of_an_animation(format_):
    frames = [Image.new("RGB", (64, 48), c) for c in ("red", "blue")]
    extra = {} if format_ == "TIFF" else {"duration": 100, "loop": 0}
    data = saved(frames[0], format_, save_all=True, append_images=frames[1:], **extra)
    for _ in range(2):
        assert np.allclose(rgb(data), RED, atol=4)


def test_i04_broken_files_are_refused_with_a_reason(tmp_path):
    whole = saved(noise(128, 96), "JPEG")
    files = {"trunc": whole[: len(whole) * 6 // 10], "zero": b"", "html": b"<html>429 Too Many Requests</html>"}
    for name, data in files.items():
        (tmp_path / f"{name}.jpg").write_bytes(data)
    (tmp_path / "dir.jpg").mkdir()
    for name, reason in [
        ("trunc", "truncated"),
        ("zero", "empty"),
        ("html", "web page"),
        ("dir", "regular"),
        ("no", "exist"),
    ]:
        with pytest.raises(ImageError, match=reason):
            decode_file(tmp_path / f"{name}.jpg", max_pixels=LIMIT)


def test_i04_mislabelled_suffix_is_read(tmp_path):
    (tmp_path / "png_named.jpg").write_bytes(saved(noise(64, 64), "PNG"))
    assert np.array_equal(decode_file(tmp_path / "png_named.jpg", max_pixels=LIMIT).rgb, np.asarray(noise(64, 64)))


def test_i04_no_grey_fill_even_if_a_library_asked_for_it(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    whole = saved(noise(128, 96), "JPEG")
    with pytest.raises(ImageError, match="truncated"):
        rgb(whole[: len(whole) // 2])


def test_i04_postscript_is_never_run():
    with pytest.raises(ImageError, match="not an image"):
        rgb(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n")


@pytest.mark.parametrize("size", [(20000, 10000), (9500, 9500)])
def test_i05_decompression_bomb_is_refused_with_its_size(size, recwarn):
    data = saved(Image.new("1", size), "PNG")
    assert len(data) < 200_000
    with pytest.raises(ImageError, match=f"{size[0] * size[1]} pixels .*max_pixels = {LIMIT}"):
        rgb(data)
    assert not recwarn.list


def test_i05_limit_is_inclusive():
    data = saved(noise(20, 10), "PNG")
    assert decode(data, max_pixels=200).rgb.shape == (10, 20, 3)
    with pytest.raises(ImageError, match="20 x 10 = 200 pixels"):
        decode(data, max_pixels=199)


def test_i05_huge_file_is_not_read(tmp_path):
    with (tmp_path / "huge.jpg").open("wb") as out:
        out.truncate(10**11)  # sparse: takes no disk
    with pytest.raises(ImageError, match="100000000000 bytes"):
        decode_file(tmp_path / "huge.jpg", max_pixels=10**6)


@pytest.mark.parametrize("size", [(1, 1), (20, 20), (332, 27), (200, 1)])
def test_c02_tiny_and_extreme_shapes_are_decoded(size):
    data = saved(noise(*size), "PNG")
    assert np.array_equal(rgb(data), np.asarray(noise(*size)))
    assert np.array_equal(from_png(png_bytes(rgb(data))), rgb(data))
    assert pixel_sha256(rgb(data)) == pixel_sha256(rgb(saved(noise(*size), "BMP")))
