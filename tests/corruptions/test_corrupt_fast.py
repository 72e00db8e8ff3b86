"""The corruptions written anew give the package's pixels on the package's draws, but for its faults."""

import tracemalloc

import imagecorruptions
import numpy as np
import pytest
from vlmdx.corruptions import SEVERITIES, fast


def both(name, image, severity, draw):
    """The package's and our pixels after the same seed (numba's generator for glass_blur, NumPy's for the others)."""
    extra = {"seed": draw} if name == "glass_blur" else {}
    np.random.seed(draw)  # noqa: NPY002 -- the package draws from it
    peer = imagecorruptions.corrupt(image, severity, name, **extra)
    ours = fast.FUNCTIONS[name](image, severity, np.random.RandomState(draw))
    return peer, ours.astype(np.uint8)


# Sizes at which no zoom layer of the package has the black edge.
@pytest.mark.parametrize("size", [(140, 140), (97, 64), (60, 151)], ids=str)
@pytest.mark.parametrize("name", fast.FUNCTIONS)
def test_equal_to_the_package(noise, name, size):
    for severity in SEVERITIES:
        peer, ours = both(name, noise(*size), severity, draw=1000 + severity)
        assert np.array_equal(peer, ours), severity


@pytest.mark.parametrize("name", fast.FUNCTIONS)
def test_equal_to_the_package_on_a_photo(photos, name):
    for severity in (1, 4):
        peer, ours = both(name, photos[2], severity, draw=7)
        assert np.array_equal(peer, ours), severity


@pytest.mark.parametrize("name", ["brightness", "saturate"])
def test_every_kind_of_colour_equal_to_the_package(name):
    levels = np.array([0, 1, 2, 25, 50, 51, 85, 100, 127, 128, 170, 204, 230, 253, 254, 255], dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(64, 64, 3)  # greys, ties, primaries, black
    for severity in SEVERITIES:
        peer, ours = both(name, cube, severity, draw=0)
        assert np.array_equal(peer, ours), severity


@pytest.mark.parametrize("size", [(36, 78), (71, 36)], ids=str)
def test_c01_zoom_blur_has_no_dark_edge(size):
    white = np.full((size[1], size[0], 3), 255, dtype=np.uint8)
    darkest_peer, darkest = 255, 255
    for severity in SEVERITIES:
        peer, ours = both("zoom_blur", white, severity, draw=0)
        darkest_peer, darkest = min(darkest_peer, peer.min()), min(darkest, ours.min())
    assert darkest >= 254
    assert darkest_peer < 250, "the package has mended its edge: drop our own zoom_blur if it is no slower"


def test_c02_motion_blur_keeps_the_brightness_of_narrow_images():
    grey = np.full((32, 32, 3), 200, dtype=np.uint8)
    pairs = [both("motion_blur", grey, 5, draw) for draw in range(10)]
    assert min(ours.min() for _, ours in pairs) >= 199
    darkest = min(peer.max() for peer, _ in pairs)
    assert darkest < 197, "the package no longer cuts the kernel: drop our own motion_blur if it is no slower"


@pytest.mark.parametrize(("longest", "side"), [(2048, 2048), (2049, 4096)])
def test_c04_memory_of_fog_is_bounded_by_its_map(noise, longest, side):
    image = noise(100, longest)
    tracemalloc.start()
    try:
        fast.FUNCTIONS["fog"](image, 3, np.random.RandomState(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * side**2 + 100 * image.shape[0] * image.shape[1] + (16 << 20)
