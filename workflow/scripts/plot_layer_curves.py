"""Draw one model's effects by layer, operation and intervention."""

from typing import Any

import pyarrow as pa
from vlmdx.mechanism.figures import draw_layer_curves
from vlmdx.provenance import run_job
from vlmdx.report.style import render
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS, ITEMS


def main(snakemake: Any) -> None:
    """Write the figure as SVG and PNG."""
    effects, control = (read_table(snakemake.input[name], EFFECTS).to_pandas() for name in ("effects", "control"))
    items = pa.concat_tables([read_table(path, ITEMS, ["item_id", "image_id"]) for path in snakemake.input.questions])
    images = dict(zip(items["item_id"].to_pylist(), items["image_id"].to_pylist(), strict=True))
    settings = snakemake.params.settings
    out = snakemake.output
    render(out.svg, out.png, draw_layer_curves, effects, control, images, **settings)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
