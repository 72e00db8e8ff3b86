"""Which cells of an image-token grid a box covers."""

import math
from typing import Literal

Box = tuple[float, float, float, float]  # x, y, width, height
Grid = tuple[int, int]  # rows, columns
Rule = Literal["any", "half", "centre"]


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
            centred = x <= column + 0.5 < x + w and y <= row + 0.5 < y + h
            area = max(overlap_x, 0) * max(overlap_y, 0)
            if {"any": area > 0, "half": area >= 0.5, "centre": centred}[rule]:
                cells.append(row * columns + column)
    return cells
