"""Images for the corruption tests: noise, real photos, and an images table made of them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from vlmdx.images import pixel_sha256, png_bytes
from vlmdx.schema.tables import IMAGES

PHOTOS = Path(__file__).parents[2] / ".." / "shared" / "data" / "mmvp" / "MMVP Images"


@pytest.fixture(scope="session")
def noise():
    """``noise(width, height)``: a uint8 RGB image of random pixels, the same at every call."""
    return lambda width, height: np.random.default_rng(width * 10007 + height).integers(
        0, 256, (height, width, 3), dtype=np.uint8
    )


@pytest.fixture(scope="session")
def photos():
    """Six photos of MMVP as uint8 RGB arrays."""
    if not PHOTOS.is_dir():
        pytest.skip("the MMVP photos are not in ../shared/data")
    return [np.asarray(Image.open(PHOTOS / f"{number}.jpg").convert("RGB")) for number in range(1, 7)]


@pytest.fixture(scope="session")
def table():
    """``table({image_id: rgb})``: an IMAGES table."""

    def build(images):
        rows = [
            {
                "image_id": image_id,
                "image": {"bytes": png_bytes(rgb), "path": None},
                "width": rgb.shape[1],
                "height": rgb.shape[0],
                "sha256": pixel_sha256(rgb),
                "mode": "RGB",
                "orientation": 1,
            }
            for image_id, rgb in images.items()
        ]
        return pa.Table.from_pylist(rows, schema=IMAGES.schema)

    return build
