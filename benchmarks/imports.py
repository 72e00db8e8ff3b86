"""Time and memory of importing a generic data set: 100,000 questions on 1,000 photos, on two threads.

    python benchmarks/imports.py [ITEMS IMAGES]

Prints seconds, CPU seconds, peak resident memory and items per second of our importer (validated, decoded, written as
Parquet) and of Hugging Face `datasets`, which comes with the discovery stage (JSON lines read, image column cast,
photos embedded in Parquet, one copy per question; nothing is decoded and no row is checked), each in a process of its
own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter

WIDTH, HEIGHT = 640, 427


def make(folder: Path, items: int, images: int) -> Path:
    """JSON lines and JPEG photos of smooth colours with some noise."""
    rng = np.random.default_rng(0)
    smooth = gaussian_filter(rng.normal(size=(HEIGHT, WIDTH, 3)), (9, 9, 0))
    for number in range(images):
        pixels = 128 + 50 * np.roll(smooth, number, (0, 1)) / smooth.std() + 5 * rng.normal(size=smooth.shape)
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / f"{number}.jpg", quality=90)
    with (folder / "rows.jsonl").open("w") as out:
        for number in range(items):
            row = {
                "id": f"q{number}",
                "image": f"{number % images}.jpg",
                "question": f"Which of the four things stands at place {number} of this made-up list of questions?",
                "options": [f"the {colour} thing {number}" for colour in ("red", "green", "blue", "yellow")],
                "answer": number % 4,
                "category": f"kind {number % 20}",
            }
            out.write(json.dumps(row) + "\n")
    return folder / "rows.jsonl"


def ours(rows: Path) -> None:
    """What the rule import_dataset does."""
    from vlmdx.datasets.driver import import_items
    from vlmdx.datasets.spill import Spill
    from vlmdx.schema import write_table
    from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED

    out = rows.parent / "ours"
    with Spill(IMAGES, out) as spill:
        found = import_items("mine", "jsonl", {"file": str(rows)}, seed=0, max_pixels=10**7, spill=spill, threads=2)
        write_table(out / "images.parquet", found.images, IMAGES)
        write_table(out / "rejected.parquet", found.rejected, REJECTED)
        write_table(out / "items.parquet", found.items, ITEMS)
    assert len(found.rejected) == 0


def theirs(rows: Path) -> None:
    """`datasets`: rows with their photo inside, as it pushes them to the hub."""
    import datasets

    datasets.disable_progress_bars()
    table = datasets.Dataset.from_json(str(rows), cache_dir=str(rows.parent / "cache"))
    table = table.map(lambda row: {"image": str(rows.parent / row["image"])})
    table = table.cast_column("image", datasets.Image())
    table.to_parquet(rows.parent / "theirs.parquet")


def measured(name: str, rows: Path) -> list[float]:
    """Seconds, CPU seconds and peak MiB of one of the two in a fresh process, imports included."""
    done = subprocess.run([sys.executable, __file__, name, str(rows)], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()[-3:]]


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] and sys.argv[1] in ("ours", "theirs"):
        start = time.perf_counter()
        {"ours": ours, "theirs": theirs}[sys.argv[1]](Path(sys.argv[2]))
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10)
        return
    items, images = map(int, sys.argv[1:3] or (100_000, 1_000))
    with tempfile.TemporaryDirectory() as folder:
        rows = make(Path(folder), items, images)
        title = f"{items} items, {images} photos of {WIDTH} x {HEIGHT}"
        print(f"{title:<48}{'seconds':>10}{'CPU s':>8}{'peak MiB':>10}{'items/s':>10}")
        for name in ("ours", "theirs"):
            seconds, cpu, peak = measured(name, rows)
            title = "vlmdx" if name == "ours" else "datasets"
            print(f"{title:<48}{seconds:10.1f}{cpu:8.1f}{peak:10.0f}{items / seconds:10.0f}")


if __name__ == "__main__":
    main()
