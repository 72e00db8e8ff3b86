"""Boxes in the frame of the stored image."""

import pytest
from vlmdx.datasets.boxes import fit_boxes
from vlmdx.datasets.records import Box, RowError, make_box


def box(x, y, w, h) -> Box:
    return Box("1", "cat", x, y, w, h)


def xywh(boxes) -> list[tuple[float, float, float, float]]:
    return [(b.x, b.y, b.w, b.h) for b in boxes]


def test_d01_clipped_where_any_of_it_is_inside():
    size = (500, 375)
    assert xywh(fit_boxes((box(480, -2, 10, 35),), size, size)) == [(480, 0, 10, 33)]
    assert xywh(fit_boxes((box(490, 360, 50, 50),), size, size)) == [(490, 360, 10, 15)]
    assert xywh(fit_boxes((box(-5, -5, 600, 600),), size, size)) == [(0, 0, 500, 375)]


@pytest.mark.parametrize(
    "outside", [(179, -904, 55, 25), (10, 10, 0, 20), (-1, -1, -1, -1), (500, 0, 5, 5), (10, 10, -5, 5), (0, 375, 5, 5)]
)
def test_d01_nothing_inside_is_set_aside(outside):
    with pytest.raises(RowError, match="covers nothing"):
        fit_boxes((box(*outside),), (500, 375), (500, 375))


@pytest.mark.parametrize("numbers", [(1, 2, 3, float("nan")), (1, 2, 3, float("inf")), (1, 2, 3, None), (1, "2", 3, 4),
                                     (True, 2, 3, 4), (10**400, 1, 1, 1)])  # fmt: skip
def test_d01_boxes_that_are_no_numbers(numbers):
    with pytest.raises(RowError, match="four numbers"):
        make_box("1", "cat", numbers)


def test_d03_shrunk_file_rescales_per_axis():
    found = xywh(fit_boxes((box(100, 75, 200, 150),), (500, 375), (250, 188)))
    assert found == [(50, pytest.approx(75 * 188 / 375), 100, pytest.approx(150 * 188 / 375))]
    assert xywh(fit_boxes((box(10, 10, 10, 10),), (1920, 1080), (1280, 720)))[0] == pytest.approx([20 / 3] * 4)
    assert xywh(fit_boxes((box(1, 1, 1, 1),), (250, 188), (500, 375)))[0] == pytest.approx((2, 375 / 188, 2, 375 / 188))


@pytest.mark.parametrize(
    ("size", "words"), [((375, 500), "turned"), ((188, 250), "turned"), ((500, 400), "not the same")]
)
def test_d03_another_aspect_is_set_aside(size, words):
    with pytest.raises(RowError, match=rf"500 x 375 px.*{words}"):
        fit_boxes((box(1, 1, 5, 5),), (500, 375), size)
