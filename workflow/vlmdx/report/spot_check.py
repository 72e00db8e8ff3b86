"""Figure: the questions of a spot check under their images, without the verifier's verdicts."""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from vlmdx.report.style import INK, MUTED

COLUMNS = 6
THUMBNAIL = 192  # pixels of the longest side


def draw_spot_check(sheet: pd.DataFrame, images: Mapping[str, Image.Image]) -> Figure:
    """A tile per question: number, image, question, and the answer that was given.

    Args:
        sheet: ``number, image_id, question, answer``.
        images: by image id.
    """
    rows = -(-len(sheet) // COLUMNS)
    figure = Figure(figsize=(1.55 * COLUMNS, 2.15 * rows))
    figure.subplots_adjust(left=0.01, right=0.99, top=0.985, bottom=0.01, wspace=0.08, hspace=0.42)
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
