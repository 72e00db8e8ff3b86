"""Which image tokens a box covers: views of an image, each a grid of tokens over the image or a part of it."""

import math
from dataclasses import dataclass
from typing import Literal

Box = tuple[float, float, float, float]  # x, y, width, height
Grid = tuple[int, int]  # rows, columns
Rule = Literal["any", "half", "centre"]
ROUNDING = 1e-9  # of a cell: an edge on the border of two cells may be off by the division of pixels by cells


@dataclass(frozen=True)
class View:
    """One look at an image: a grid of image tokens in raster order.

    Attributes:
        first: number of its first token among the image tokens of the prompt, from 0.
        grid: rows and columns.
        shown: what the whole grid spans, in pixels of the image; may reach beyond it (padding) or be a part (a crop).
        marks: tokens at the end of each row that show nothing (LLaVA-NeXT's newline).
    """

    first: int
    grid: Grid
    shown: Box
    marks: int = 0

    @property
    def size(self) -> int:
        """Image tokens it takes, marks included."""
        return self.grid[0] * (self.grid[1] + self.marks)

    @property
    def tokens(self) -> list[int]:
        """Numbers of the tokens that show something, in raster order."""
        return [self._token(cell) for cell in range(self.grid[0] * self.grid[1])]

    def tokens_in(self, box: Box, rule: Rule = "any") -> list[int]:
        """Numbers of the tokens that ``box`` (pixels of the image) covers; none if the view does not show it."""
        (rows, columns), (left, top, width, height) = self.grid, self.shown
        x, y, w, h = box
        scaled = (x - left) * columns / width, (y - top) * rows / height, w * columns / width, h * rows / height
        return [self._token(cell) for cell in cells_in_box(scaled, self.grid, rule)]

    def cell_box(self, token: int) -> Box:
        """What one of its tokens shows, in pixels of the image."""
        row, column = divmod(token - self.first, self.grid[1] + self.marks)
        width, height = self.shown[2] / self.grid[1], self.shown[3] / self.grid[0]
        return self.shown[0] + column * width, self.shown[1] + row * height, width, height

    def _token(self, cell: int) -> int:
        return self.first + cell + cell // self.grid[1] * self.marks


def tiles(first: int, arrangement: Grid, grid: Grid, image_size: tuple[int, int]) -> list[View]:
    """Views of an image cut into ``arrangement`` = rows, columns of tiles in raster order, each ``grid`` tokens."""
    width, height = image_size[0] / arrangement[1], image_size[1] / arrangement[0]
    return [
        View(first + place * grid[0] * grid[1], grid, (column * width, row * height, width, height))
        for place, (row, column) in enumerate((r, c) for r in range(arrangement[0]) for c in range(arrangement[1]))
    ]


def clip(box: Box, image_size: tuple[int, int]) -> Box | None:
    """The part of ``box`` inside an image of ``image_size`` = width, height; None if there is none."""
    x, y, w, h = box
    left, top, right, bottom = max(x, 0), max(y, 0), min(x + w, image_size[0]), min(y + h, image_size[1])
    return (left, top, right - left, bottom - top) if right > left and bottom > top else None


def cells_in_box(box: Box, grid: Grid, rule: Rule = "any") -> list[int]:
    """Cells, numbered in raster order from 0, that belong to ``box``.

    Args:
        box: in units of cells, its origin the grid's upper left corner; may reach beyond the grid.
        grid: rows and columns.
        rule: a cell belongs if the box overlaps it at all ("any"), overlaps at least half of it, or covers its centre.

    Raises:
        ValueError: unknown rule.
    """
    if rule not in ("any", "half", "centre"):
        raise ValueError(f"box rule {rule!r}: expected any, half or centre")
    x, y, w, h = box
    rows, columns = grid
    cells = []
    for row in range(max(0, math.floor(y)), min(rows, math.ceil(y + h))):
        for column in range(max(0, math.floor(x)), min(columns, math.ceil(x + w))):
            overlap_x = min(x + w, column + 1) - max(x, column)
            overlap_y = min(y + h, row + 1) - max(y, row)
            centre_x, centre_y = column + 0.5 + ROUNDING, row + 0.5 + ROUNDING
            centred = x <= centre_x < x + w and y <= centre_y < y + h
            touched = min(overlap_x, overlap_y) > ROUNDING
            half = overlap_x * overlap_y >= 0.5 - ROUNDING
            if {"any": touched, "half": touched and half, "centre": centred}[rule]:
                cells.append(row * columns + column)
    return cells
