"""Contact sheet: the boxes of the VSR statements on their COCO photos, as our importer hands them out, for a look.

    python -m tests.datasets.box_sheet sheet.png

Reads `../shared/data/vsr-coco`. The subject's boxes are orange, the object's blue; numbers are COCO's annotation ids.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from vlmdx.datasets.driver import import_items
from vlmdx.datasets.spill import Spill
from vlmdx.images import from_png
from vlmdx.schema.tables import IMAGES

DATA = Path(__file__).parents[3] / "shared" / "data" / "vsr-coco"
COLUMNS = 4
COLOURS = ("tab:orange", "tab:blue")


def statements(folder: Path = DATA) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Items of the statements, each with the pixels of its photo (height x width x 3)."""
    options = {"file": folder / "vsr.jsonl", "images": folder / "images", "instances_file": folder / "instances.json"}
    with TemporaryDirectory() as spilled, Spill(IMAGES, Path(spilled)) as spill:
        found = import_items(
            "vsr", "vsr", {k: str(v) for k, v in options.items()}, seed=0, max_pixels=10**7, spill=spill
        )
        photos = {row["image_id"]: from_png(row["image"]["bytes"]) for row in found.images.to_pylist()}
        return [(row, photos[row["image_id"]]) for row in found.items.to_pylist()]


def parts(item: dict[str, Any]) -> list[list[str]]:
    """Object ids of the subject and of the object, out of the item's program."""
    steps = json.loads(item["program"])
    return [step["argument"].rpartition("(")[2].rstrip(")").split(",") for step in steps]


def draw_boxes(shown: list[tuple[dict[str, Any], np.ndarray]]) -> Figure:
    """One panel per statement: photo, boxes, and below it the statement with the gold answer."""
    rows = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(4 * COLUMNS, 3.6 * rows), layout="constrained")
    for axis in (axes := figure.subplots(rows, COLUMNS, squeeze=False)).flat:
        axis.set_axis_off()
    for axis, (item, pixels) in zip(axes.flat, shown, strict=False):
        axis.imshow(pixels)
        boxes = {box["object_id"]: box for box in item["objects"]}
        for ids, colour in zip(parts(item), COLOURS, strict=True):
            for key in ids:
                box = boxes[key]
                edge = {"fill": False, "edgecolor": colour, "linewidth": 2}
                axis.add_patch(Rectangle((box["x"], box["y"]), box["w"], box["h"], **edge))
                axis.text(box["x"], box["y"], f"{box['name']} {key}", fontsize=6, backgroundcolor=colour, va="bottom")
        said = item["question"].partition("? ")[2]
        axis.set_title(f"{item['item_id']}: {said} {item['options'][item['answer']]}", fontsize=7, parse_math=False)
    return figure


if __name__ == "__main__":
    draw_boxes(statements()).savefig(sys.argv[1], dpi=110)
