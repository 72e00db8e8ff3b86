"""Figure: the questions of a spot check under their images, without the verifier's verdicts."""

import os
import textwrap
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from vlmdx.report.style import INK, MUTED, STYLE
from vlmdx.schema import atomic

COLUMNS = 6
THUMBNAIL = 160  # pixels of the longest side
DPI = 100  # at which a tile has about as many pixels as its thumbnail


def save_spot_check(path: str | os.PathLike, sheet: pd.DataFrame, images: Mapping[str, Image.Image]) -> None:
    """:func:`draw_spot_check` as PNG; photos make a vector file needlessly large."""
    with mpl.rc_context(STYLE), atomic(path) as temporary:
        draw_spot_check(sheet, images).savefig(temporary, dpi=DPI, metadata={"Software": None})


def draw_spot_check(sheet: pd.DataFrame, images: Mapping[str, Image.Image]) -> Figure:
    """A tile per question: number, image, question, and the answer that was given.

    Args:
        sheet: ``number, image_id, question, answer``.
        images: by image id.
    """
    rows = -(-len(sheet) // COLUMNS)
    height = 2.15 * rows + 0.4
    figure = Figure(figsize=(1.55 * COLUMNS, height))
    figure.subplots_adjust(left=0.01, right=0.99, top=1 - 0.25 / height, bottom=0.6 / height, wspace=0.08, hspace=0.42)
    axes = figure.subplots(rows, COLUMNS, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, row in zip(axes.flat, sheet.itertuples(), strict=False):
        small = images[str(row.image_id)].copy()
        small.thumbnail((THUMBNAIL, THUMBNAIL))
        axis.imshow(np.asarray(small))
        axis.set_title(str(row.number), fontsize=7, pad=2)
        text = "\n".join(textwrap.wrap(str(row.question), 30)[:3])
        axis.text(0, -0.03, text, transform=axis.transAxes, va="top", fontsize=6, color=INK, parse_math=False)
        said = "(no answer)" if pd.isna(row.answer) else f"said: {row.answer}"
        axis.text(0, -0.3, textwrap.shorten(said, 34), transform=axis.transAxes, va="top", fontsize=6, color=MUTED,
                  style="italic", parse_math=False)  # fmt: skip
    return figure
