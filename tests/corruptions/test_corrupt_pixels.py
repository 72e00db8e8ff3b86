"""One image, one corruption, one severity."""

import hashlib
import json
import os
import subprocess
import sys

import imagecorruptions
import numpy as np
import pytest
from vlmdx.corruptions import CORRUPTIONS, FAMILIES, RANDOM, SEVERITIES
from vlmdx.corruptions.apply import _pixels, corrupt, item_seed, self_check
from vlmdx.corruptions.reference import MIN_SIDE, reference

ALL = [(name, severity) for name in CORRUPTIONS for severity in SEVERITIES]


def sha(rgb):
    return hashlib.sha256(rgb.tobytes()).hexdigest()


def bands(rgb):
    return {"top": rgb[:2], "bottom": rgb[-2:], "left": rgb[:, :2], "right": rgb[:, -2:]}


@pytest.mark.parametrize("size", [(320, 181), (181, 320), (33, 500), (500, 33)], ids=str)
def test_c01_shape_kept_and_no_untouched_band(noise, capfd, size):
    image = noise(*size)
    before = image.copy()
    for name, severity in ALL:
        out = corrupt(image, name, severity, seed=0)
        assert out.shape == image.shape and out.dtype == np.uint8, (name, severity)
        if name == "spatter":  # drops fall where they fall; see the next test
            continue
        for where, band in bands(out).items():
            assert (band != bands(image)[where]).any(), f"{name} {severity} left the {where} as it was"
    assert np.array_equal(image, before), "the input was written to"
    assert capfd.readouterr().out == ""


def test_c01_spatter_reaches_every_edge(noise):
    image = noise(181, 320)
    for severity in SEVERITIES:
        touched = set()
        for seed in range(8):
            out = bands(corrupt(image, "spatter", severity, seed))
            touched |= {where for where, band in bands(image).items() if (out[where] != band).any()}
        assert touched == {"top", "bottom", "left", "right"}, severity


@pytest.mark.parametrize("size", [(31, 31), (32, 32), (332, 27), (20, 20), (1, 1), (1, 150)], ids=str)
def test_c02_tiny_images_are_enlarged_the_same_for_clean_and_corrupted(noise, size):
    clean = reference(noise(*size), side=512)
    assert min(clean.shape[:2]) == MIN_SIDE
    assert clean.shape[1] / clean.shape[0] == pytest.approx(size[0] / size[1], rel=0.02)
    for name in CORRUPTIONS:
        assert corrupt(clean, name, 5, seed=0).shape == clean.shape


def test_c02_an_image_that_was_not_brought_to_reference_resolution_is_refused(noise):
    with pytest.raises(ValueError, match="at least 32 px"):
        corrupt(noise(31, 40), "fog", 1, seed=0)


def test_c03_nineteen_names_in_five_families_and_95_different_outputs(noise):
    assert set(CORRUPTIONS) == set(imagecorruptions.get_corruption_names("all"))
    assert len(CORRUPTIONS) == 19 and len(FAMILIES) == 5
    image = noise(64, 64)
    assert len({sha(corrupt(image, name, severity, seed=0)) for name, severity in ALL} - {sha(image)}) == 95
    self_check()


def test_c03_self_check_names_what_does_not_run(monkeypatch):
    def broken(image, severity):
        raise TypeError("unexpected keyword argument 'multichannel'")

    monkeypatch.setitem(imagecorruptions.corruption_dict, "gaussian_blur", broken)
    monkeypatch.setitem(imagecorruptions.corruption_dict, "contrast", lambda image, severity: image)
    with pytest.raises(RuntimeError, match=r"gaussian_blur: TypeError.*multichannel") as caught:
        self_check()
    assert "contrast: its output equals the untouched image" in str(caught.value)
    assert "fog" not in str(caught.value)


def test_c05_same_pixels_in_a_fresh_process_and_in_any_order(noise):
    image = noise(70, 50)
    here = {f"{name} {severity}": sha(corrupt(image, name, severity, seed=3)) for name, severity in ALL}
    code = (
        "import sys, json, hashlib, numpy as np\n"
        "from vlmdx.corruptions.apply import corrupt\n"
        "image = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(50, 70, 3)\n"
        "np.random.seed(99)\n"
        f"cells = list(reversed({ALL}))\n"
        "sha = lambda rgb: hashlib.sha256(rgb.tobytes()).hexdigest()\n"
        "print(json.dumps({f'{n} {s}': sha(corrupt(image, n, s, 3)) for n, s in cells}))"
    )
    run = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    there = subprocess.run(run, input=image.tobytes(), capture_output=True, check=True, env=environment)
    assert json.loads(there.stdout) == here


def test_c05_another_seed_or_another_image_draws_anew_and_only_random_corruptions_change(noise):
    image = noise(64, 48)
    for name, severity in ALL:
        changed = not np.array_equal(corrupt(image, name, severity, 0), corrupt(image, name, severity, 1))
        assert changed == (name in RANDOM), (name, severity)
        assert (item_seed("content", name, severity, 0) is None) == (name not in RANDOM)
    seeds = [item_seed(c, "fog", s, seed) for c in "ab" for s in (1, 2) for seed in (0, 1)]
    assert len(set(seeds)) == 8 and all(0 <= seed < 2**63 for seed in seeds)


def test_c05_the_global_generator_is_left_as_it_was(noise):
    image = noise(40, 40)
    np.random.seed(5)  # noqa: NPY002 -- the global generator is what is tested
    expected = np.random.random(4)  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    for name in CORRUPTIONS:
        corrupt(image, name, 3, seed=0)
    assert np.array_equal(np.random.random(4), expected)  # noqa: NPY002


def test_spatter_without_a_drop_leaves_the_image_and_does_not_blacken_it(noise):
    image = noise(32, 32)
    outs = [_pixels(image, "spatter", 1, draw) for draw in range(100)]
    assert any(np.array_equal(out, image) for out in outs)
    assert min(out.mean() for out in outs) > 50


def test_photos_lose_more_to_higher_severity_of_noise(photos):
    image = reference(photos[0], side=128)
    for name in ("gaussian_noise", "jpeg_compression", "gaussian_blur"):
        errors = [np.abs(corrupt(image, name, s, 0).astype(int) - image).mean() for s in SEVERITIES]
        assert errors == sorted(errors) and errors[0] > 0, name


def test_reference_reduces_the_longest_side_and_never_enlarges_what_fits(noise):
    assert reference(noise(640, 320), side=336).shape == (168, 336, 3)
    small = noise(100, 50)
    assert reference(small, side=336) is small
    with pytest.raises(ValueError, match="more than 200 times"):
        reference(noise(3, 603), side=336)
    with pytest.raises(ValueError, match="at least 32"):
        reference(small, side=16)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"corruption": "rain"}, "unknown corruption 'rain'.*brightness"), ({"severity": 0}, "severity of fog is 0")],
)
def test_wrong_names_are_refused_with_the_allowed_ones(noise, change, words):
    arguments = {"rgb": noise(40, 40), "corruption": "fog", "severity": 1, "seed": 0} | change
    with pytest.raises(ValueError, match=words):
        corrupt(**arguments)


def test_grey_and_float_images_are_refused(noise):
    for bad in (noise(40, 40)[..., 0], noise(40, 40) / 255.0):
        with pytest.raises(ValueError, match="uint8"):
            corrupt(bad, "fog", 1, seed=0)
