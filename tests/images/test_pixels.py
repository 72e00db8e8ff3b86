"""PNG round trip, pixel hash, downscaling."""

import numpy as np
import pytest
from vlmdx.images import from_png, pixel_sha256, png_bytes, resize_longest


def noise(width, height) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_png_round_trip_is_exact_and_writable():
    pixels = noise(37, 21)
    again = from_png(png_bytes(pixels))
    assert np.array_equal(again, pixels)
    again[0, 0] = 0  # a read-only view would fail here


def test_hash_is_of_shape_and_pixels_not_of_memory_layout():
    pixels = noise(6, 4)
    assert pixel_sha256(pixels) == pixel_sha256(np.asfortranarray(pixels))
    assert pixel_sha256(pixels) != pixel_sha256(pixels.reshape(6, 4, 3))
    changed = pixels.copy()
    changed[3, 5, 2] ^= 1
    assert pixel_sha256(changed) != pixel_sha256(pixels)


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_other_arrays_are_refused(wrong):
    for function in (png_bytes, pixel_sha256, lambda a: resize_longest(a, 2)):
        with pytest.raises(ValueError, match="uint8"):
            function(wrong)


def test_source_file_is_no_png_of_ours():
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("L", (3, 3)).save(out, "PNG")
    with pytest.raises(ValueError, match="mode L"):
        from_png(out.getvalue())


@pytest.mark.parametrize(
    ("size", "side", "expected"),
    [((500, 375), 250, (250, 188)), ((375, 500), 250, (188, 250)), ((100, 50), 100, (100, 50)), ((9, 5), 100, (9, 5)),
     ((1000, 1), 10, (10, 1)), ((3, 3), 1, (1, 1))],
)  # fmt: skip
def test_longest_side(size, side, expected):
    assert resize_longest(noise(*size), side).shape == (expected[1], expected[0], 3)


def test_downscaling_averages():
    checker = np.indices((64, 64)).sum(0) % 2 * np.uint8(255)
    small = resize_longest(np.repeat(checker[:, :, None].astype(np.uint8), 3, 2), 16)
    assert abs(int(small[8, 8, 0]) - 127) < 10  # nearest-neighbour would give 0 or 255
