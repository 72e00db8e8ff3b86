"""One made-up model on disk, measured once."""

import pytest
from vlmdx.reliability import reliability_tables

from tests.reliability.synthetic_scores import SETTINGS, make_items, make_scores, write_items, write_shards


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Items, shards of one model, and their paths."""
    folder = tmp_path_factory.mktemp("world")
    items = make_items(24, seed=5)
    shards = make_scores(items, seed=1)
    return {
        "items": items,
        "shards": shards,
        "questions": write_items(folder / "items.parquet", items),
        "paths": write_shards(folder / "scores", shards),
    }


@pytest.fixture(scope="session")
def measured(world):
    """The reliability tables of that model."""
    return reliability_tables("m", world["paths"], world["questions"], **SETTINGS)
