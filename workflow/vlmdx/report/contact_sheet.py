"""Figure: one image under every corruption and severity, for a look at what the models were shown."""

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from vlmdx.report.style import MUTED, plain
from vlmdx.schema import ContractError, read_table
from vlmdx.schema.names import CLEAN, CORRUPTIONS
from vlmdx.schema.tables import CORRUPTED

THUMBNAIL = 224  # pixels of the longest side
BLOCKS = 2  # columns of corruptions side by side

Tiles = dict[tuple[str, int], dict]


def read_tiles(paths: Sequence[str], image_id: str | None) -> tuple[str, Tiles]:
    """The rows of one image from the shards of a data set.

    Args:
        paths: ``corrupted`` shards.
        image_id: which image; None takes the first in sorted order.

    Returns:
        The image id, and {(corruption, severity): row with image bytes, psnr, ssim}.

    Raises:
        ContractError: a shard breaks its contract, or no shard has the image.
    """
    if image_id is None:
        first = [pc.min(read_table(path, CORRUPTED, columns=["image_id"])["image_id"]).as_py() for path in paths]
        image_id = min((name for name in first if name is not None), default=None)
    columns = ["corruption", "severity", "image", "psnr", "ssim"]
    rows = pa.concat_tables(
        read_table(path, CORRUPTED, columns=columns, filters=[("image_id", "==", image_id)]) for path in paths
    ).to_pylist()
    if image_id is None or not rows:
        raise ContractError(f"image {image_id!r} is in none of {', '.join(map(str, paths))}")
    return image_id, {(row["corruption"], row["severity"]): row for row in rows}


def draw_contact_sheet(image_id: str, tiles: Tiles) -> Figure:
    """Corruptions from top to bottom in two blocks, severities from left to right, PSNR and SSIM under each tile.

    Args:
        image_id: shown as the title.
        tiles: from :func:`read_tiles`.
    """
    names = [name for name in CORRUPTIONS if any(corruption == name for corruption, _ in tiles)]
    severities = sorted({severity for _, severity in tiles if severity > 0})
    clean = tiles.get((CLEAN, 0))
    shown = [*([CLEAN] if clean else []), *names]
    rows = -(-len(shown) // BLOCKS)
    shape = _thumbnail(next(iter(tiles.values()))).shape
    width, height = 1.15, 1.15 * shape[0] / shape[1]
    size = (BLOCKS * (width * len(severities) + 1.0), rows * (height + 0.17) + 0.4)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.005, wspace=0.0, hspace=0.0))
    blocks = figure.subfigures(1, BLOCKS, squeeze=False)[0]
    for number, block in enumerate(blocks):
        here = shown[number * rows : (number + 1) * rows]
        axes = block.subplots(rows, max(1, len(severities)), squeeze=False)
        for axis in axes.flat:
            axis.set_axis_off()
        for row, name in enumerate(here):
            for column, severity in enumerate([0] if name == CLEAN else severities):
                _tile(axes[row, column], tiles.get((name, severity)), shape)
                if number * rows + row == 0 or row == 0 or (number == 0 and row == 1 and clean):
                    axes[row, column].set_title("clean" if name == CLEAN else f"severity {severity}", fontsize=7)
            label = "" if name == CLEAN else plain(name).replace(" ", "\n", 1)
            axes[row, 0].text(
                -0.08, 0.5, label, transform=axes[row, 0].transAxes, ha="right", va="center", fontsize=8, rotation=0
            )
    figure.suptitle(
        f"{image_id}  (PSNR in dB / SSIM against the clean image)", fontsize=9, y=1.0, va="bottom", parse_math=False
    )
    return figure


def _thumbnail(row: dict) -> np.ndarray:
    image = Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB")
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    return np.asarray(image)


def _tile(axis, row: dict | None, shape: tuple[int, ...]) -> None:
    if row is None:
        axis.imshow(np.full(shape, 242, dtype=np.uint8))
        axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", va="center", color=MUTED, style="italic")
        return
    axis.imshow(_thumbnail(row))
    if row["psnr"] is not None:
        text = f"{row['psnr']:.0f} / {row['ssim']:.2f}"
        axis.text(0.5, -0.03, text, transform=axis.transAxes, ha="center", va="top", fontsize=6, color=MUTED)
