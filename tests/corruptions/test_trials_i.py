"""The trials of section I that go on after decoding: what the model is given, clean and corrupted."""

import io

import numpy as np
import pytest
from PIL import Image
from vlmdx.corruptions.shards import corrupt_images, write_shard
from vlmdx.images import decode, from_png
from vlmdx.schema import read_table
from vlmdx.schema.tables import CORRUPTED


def saved(image, format_, **options):
    out = io.BytesIO()
    image.save(out, format_, **options)
    return decode(out.getvalue(), max_pixels=10**6).rgb


def halves():
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, :32], pixels[:, 32:] = (255, 0, 0), (0, 0, 255)
    return Image.fromarray(pixels)


@pytest.fixture
def shown(table, tmp_path):
    """Pixels of a shard after it was written and read again: (image, severity) -> RGB."""

    def make(images, corruptions=(), severities=()):
        rows = corrupt_images(table(images), corruptions, severities, seed=0, reference_side=512)
        write_shard(tmp_path / "shard.parquet", rows)
        found = read_table(tmp_path / "shard.parquet", CORRUPTED).to_pylist()
        assert not any(b"eXIf" in row["image"]["bytes"] for row in found)
        return {(r["image_id"], r["corruption"], r["severity"]): from_png(r["image"]["bytes"]) for r in found}

    return make


def test_i01_still_48_by_64_with_red_on_top_after_corrupting_and_saving(shown):
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = saved(halves(), "JPEG", exif=exif, quality=95)
    found = shown({"phone": upright}, ["gaussian_noise", "jpeg_compression"], [1, 5])
    assert len(found) == 4
    for pixels in found.values():
        assert pixels.shape == (64, 48, 3)
        top, bottom = pixels[:28].reshape(-1, 3).mean(0), pixels[-28:].reshape(-1, 3).mean(0)
        assert top[0] > top[2] + 60 and bottom[2] > bottom[0] + 60


def test_i02_the_clean_image_given_to_the_model_keeps_more_than_200_grey_levels(shown):
    ramp = Image.fromarray(np.repeat((np.arange(256, dtype=np.uint16) * 257)[None, :], 64, 0))
    (pixels,) = shown({"ramp": saved(ramp, "PNG")}).values()
    assert len(np.unique(pixels[..., 0])) > 200


def test_i03_one_background_for_clean_and_corrupted(shown):
    hidden = np.zeros((48, 64, 4), np.uint8)
    hidden[..., 0] = 255
    upright = saved(Image.fromarray(hidden), "PNG")
    (clean,) = shown({"hidden red": upright}).values()
    assert (clean == 255).all()
    (corrupted,) = shown({"hidden red": upright}, ["pixelate"], [3]).values()
    assert (corrupted == 255).all()
