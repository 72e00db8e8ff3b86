"""Contrast one model's effects between correct and incorrect answers, and read the failure modes from them."""

from typing import Any

import pyarrow as pa
from vlmdx.mechanism.asked import sampling
from vlmdx.mechanism.contrast import pathways
from vlmdx.mechanism.modes import Thresholds, failure_modes, sensitivity
from vlmdx.mechanism.tables import ASKED
from vlmdx.provenance import run_job
from vlmdx.schema import atomic, read_table
from vlmdx.schema.tables import EFFECTS, ITEMS

COLUMNS = ["item_id", "image_id", "operation", "options", "answer"]


def main(snakemake: Any) -> None:
    """Write the model's rows of the four tables."""
    settings, model = snakemake.params.settings, snakemake.wildcards.model
    effects, control = (read_table(snakemake.input[name], EFFECTS).to_pandas() for name in ("effects", "control"))
    items = read_table(snakemake.input.questions, ITEMS, COLUMNS).to_pylist()
    asked = pa.concat_tables([read_table(path, ASKED) for path in snakemake.input.asked]).to_pylist()
    images = {item["item_id"]: item["image_id"] for item in items}
    table = pathways(
        effects,
        control,
        images,
        resamples=settings["resamples"],
        confidence=settings["confidence"],
        seed=settings["seed"],
    )
    counts = sampling(model, items, asked, effects["item_id"])
    answered = counts.groupby("operation")[["right", "wrong"]].sum()
    # Of all questions that were asked: a balanced draw is half wrong by design.
    accuracy = (answered["right"] / answered.sum(axis=1)).to_dict()
    at = Thresholds(**settings["thresholds"])
    tables = {"failure_modes": failure_modes(model, table, accuracy, at), "sensitivity": sensitivity(model, table, at)}
    table.insert(0, "model", model)
    for name, frame in {"pathways": table, "sampling": counts, **tables}.items():
        with atomic(snakemake.output[name]) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
