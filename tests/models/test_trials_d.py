"""D01 with its own numbers: boxes that leave a 500 x 375 image, on the grid that Qwen2.5-VL makes of it."""

import pytest
from vlmdx.models.geometry import View, clip

SIZE, GRID = (500, 375), (13, 18)


@pytest.mark.parametrize(
    ("box", "tokens"),
    [
        ((480, -2, 10, 35), [17, 35]),
        ((179, -904, 55, 25), []),
        ((10, 10, 0, 20), []),
        ((-1, -1, -1, -1), []),
        ((100, 100, 5, 5), [57]),
        ((490, 360, 50, 50), [233]),
        ((-30, 100, 31, 5), [54]),  # hangs out to the left: the first column, and no token of the row before
    ],
)
def test_d01_tokens_of_boxes_that_leave_the_image(box, tokens):
    # No model is needed: the whole image is resized onto the whole grid.
    inside = clip(box, SIZE)
    assert (View(0, GRID, (0, 0, *SIZE)).tokens_in(inside) if inside else []) == tokens
