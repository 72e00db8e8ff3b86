"""Contrast one model's effects on VSR's statements between right and wrong answers, by relation category."""

from typing import Any

from vlmdx.mechanism.tables import VSR_EFFECTS
from vlmdx.mechanism.vsr import vsr_pathways
from vlmdx.provenance import run_job
from vlmdx.schema import atomic, read_table
from vlmdx.schema.tables import ITEMS


def main(snakemake: Any) -> None:
    """Write the model's rows."""
    effects, control = (read_table(snakemake.input[name], VSR_EFFECTS).to_pandas() for name in ("effects", "control"))
    items = read_table(snakemake.input.questions, ITEMS, ["item_id", "image_id"])
    images = dict(zip(items["item_id"].to_pylist(), items["image_id"].to_pylist(), strict=True))
    table = vsr_pathways(effects, control, images, **snakemake.params.settings)
    table.insert(0, "model", snakemake.wildcards.model)
    with atomic(snakemake.output[0]) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
