"""C02: an image that no vision tower takes is set aside at import, before it can stop a corruption job."""

import io

import pytest
from PIL import Image
from vlmdx.images import MAX_ASPECT, ImageError, decode


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height)).save(file, "PNG")
    return file.getvalue()


def test_c02_extreme_aspect_is_refused_with_its_size():
    with pytest.raises(ImageError, match=f"3 x {3 * MAX_ASPECT + 1}: one side is more than 200 times"):
        decode(png(3, 3 * MAX_ASPECT + 1), max_pixels=10**6)


def test_c02_the_limit_itself_is_accepted():
    assert decode(png(3 * MAX_ASPECT, 3), max_pixels=10**6).rgb.shape == (3, 3 * MAX_ASPECT, 3)
