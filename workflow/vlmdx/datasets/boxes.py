"""Bring annotated boxes into the pixel frame of the stored image.

The frame is that of the upright image (EXIF orientation applied), origin top left, y down. Rules, in this order:
1. The annotated size equals the image's: boxes stay.
2. Same aspect within rounding, i.e. one edge scaled by the other edge's factor is off by at most 1 px: the file was
   shrunk or enlarged after annotation, boxes are scaled per axis.
3. Any other size (another crop, a file turned by EXIF after it was annotated): RowError.
4. A box that leaves the image is clipped; one without any area inside is a RowError.
"""

from dataclasses import replace

from vlmdx.datasets.records import Box, RowError, brief


def fit_boxes(objects: tuple[Box, ...], annotated: tuple[int, int] | None, size: tuple[int, int]) -> tuple[Box, ...]:
    """Boxes in pixels of the stored image.

    Args:
        objects: boxes in pixels of the annotated image.
        annotated: its width and height; None means that of the stored image.
        size: width and height of the stored image.

    Raises:
        RowError: see the rules above.
    """
    scale_x, scale_y = _scales(annotated or size, size)
    return tuple(_clip(box, scale_x, scale_y, size) for box in objects)


def _scales(annotated: tuple[int, int], size: tuple[int, int]) -> tuple[float, float]:
    if annotated == size:
        return 1.0, 1.0
    scale_x, scale_y = size[0] / annotated[0], size[1] / annotated[1]
    # 500 x 375 shrunk to 250 x 188: 375 * 250/500 = 187.5, which some program rounded up.
    if abs(annotated[1] * scale_x - size[1]) > 1 and abs(annotated[0] * scale_y - size[0]) > 1:
        turned = " turned" if abs(annotated[0] / annotated[1] - size[1] / size[0]) < 0.01 else ""
        raise RowError(
            f"boxes were drawn on {annotated[0]} x {annotated[1]} px, the image is {size[0]} x {size[1]}{turned}: "
            "not the same picture; use the file that was annotated"
        )
    return scale_x, scale_y


def _clip(box: Box, scale_x: float, scale_y: float, size: tuple[int, int]) -> Box:
    left, right = (min(max(v * scale_x, 0.0), float(size[0])) for v in (box.x, box.x + box.w))
    top, bottom = (min(max(v * scale_y, 0.0), float(size[1])) for v in (box.y, box.y + box.h))
    if right <= left or bottom <= top:
        raise RowError(
            f"the box of object {brief(box.object_id)} ({brief(box.name)}), "
            f"x {box.x:g} y {box.y:g} w {box.w:g} h {box.h:g}, covers nothing of the {size[0]} x {size[1]} px image"
        )
    return replace(box, x=left, y=top, w=right - left, h=bottom - top)
