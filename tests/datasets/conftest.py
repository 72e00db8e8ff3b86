"""Small data sets made here, and the real ones beside the repository."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from vlmdx.datasets.driver import Imported, import_items
from vlmdx.datasets.spill import Spill
from vlmdx.schema.tables import IMAGES

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data() -> Path:
    """Folder of real data sets."""
    if not DATA.is_dir():
        pytest.skip(f"real data sets are not in {DATA}")
    return DATA


@pytest.fixture
def picture(tmp_path):
    """Write an image of random pixels under ``tmp_path`` and return its path."""

    def write(name: str, width: int = 64, height: int = 48, **options) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(len(name)).integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, **options)
        return path

    return write


@pytest.fixture
def lines(tmp_path):
    """Write rows as JSON lines (text stays as it is) and return the path."""

    def write(*rows: dict | str, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows), "utf-8")
        return path

    return write


@pytest.fixture
def run(tmp_path):
    """Import a data set called "t"; check that no row is lost."""
    spills: list[Spill] = []

    def import_(importer: str, options: dict, *, seed: int = 0, max_pixels: int = 10**7, threads: int = 1) -> Imported:
        spills.append(Spill(IMAGES, tmp_path / "spill"))
        texts = {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
        found = import_items("t", importer, texts, seed=seed, max_pixels=max_pixels, spill=spills[-1], threads=threads)
        assert found.summary.read == len(found.items) + len(found.rejected) + found.summary.undrawn
        assert set(found.images["image_id"].to_pylist()) == set(found.items["image_id"].to_pylist())
        return found

    yield import_
    for spill in spills:
        spill.__exit__()


@pytest.fixture
def reasons():
    """Item id (else position) to reason of the rejected rows."""

    def of(found: Imported) -> dict[str, str]:
        return {r["item_id"] or r["position"]: r["reason"] for r in found.rejected.to_pylist()}

    return of
