"""Lay out held-out questions for a person to judge: a sheet, its images, and apart from it the verdicts."""

import shutil
import uuid
from pathlib import Path
from typing import Any

from vlmdx.discovery.pictures import read_pictures
from vlmdx.discovery.spot_check import draw_sample
from vlmdx.provenance import run_job
from vlmdx.report.spot_check import save_spot_check
from vlmdx.schema import read_table
from vlmdx.schema.tables import ROLLOUTS


def main(snakemake: Any) -> None:
    """``sheet.csv`` to fill in, ``key.csv`` to compare with afterwards, ``images/``, and a contact sheet of it all."""
    settings, given = snakemake.params.settings, snakemake.input
    rollouts = read_table(given.rollouts, ROLLOUTS).to_pandas()
    sheet, key = draw_sample(rollouts, settings["questions"], settings["seed"])
    pictures = {p.image_id: p for p in read_pictures(given.images, sorted(set(sheet["image_id"])))}
    final = Path(snakemake.output.folder)
    made = final.with_name(f".{final.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        (made / "images").mkdir(parents=True)
        for name, image_id in zip(sheet["image"], sheet["image_id"], strict=True):
            (made / name).write_bytes(pictures[image_id].png)
        sheet.to_csv(made / "sheet.csv", index=False)
        key.to_csv(made / "key.csv", index=False)
        shutil.rmtree(final, ignore_errors=True)
        made.rename(final)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    images = {image_id: picture.image for image_id, picture in pictures.items()}
    save_spot_check(snakemake.output.png, sheet, images)


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
