"""Contrast one model's effects between correct and incorrect answers, and read the failure modes from them."""

from typing import Any

import pyarrow as pa
from vlmdx.mechanism.contrast import pathways
from vlmdx.mechanism.modes import Thresholds, failure_modes
from vlmdx.provenance import run_job
from vlmdx.schema import atomic, read_table
from vlmdx.schema.tables import EFFECTS, ITEMS


def main(snakemake: Any) -> None:
    """Write the model's rows of both tables."""
    settings, model = snakemake.params.settings, snakemake.wildcards.model
    effects, control = (read_table(snakemake.input[name], EFFECTS).to_pandas() for name in ("effects", "control"))
    items = pa.concat_tables([read_table(path, ITEMS, ["item_id", "image_id"]) for path in snakemake.input.questions])
    images = dict(zip(items["item_id"].to_pylist(), items["image_id"].to_pylist(), strict=True))
    table = pathways(
        effects,
        control,
        images,
        resamples=settings["resamples"],
        confidence=settings["confidence"],
        seed=settings["seed"],
    )
    accuracy = effects.drop_duplicates("item_id").groupby("operation")["correct"].mean().to_dict()
    modes = failure_modes(model, table, accuracy, Thresholds(**settings["thresholds"]))
    table.insert(0, "model", model)
    for name, frame in (("pathways", table), ("failure_modes", modes)):
        with atomic(snakemake.output[name]) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
