"""Real photos through the whole DAG: rows in = rows scored + rows set aside."""

import csv
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from tests.workflow.project import ROOT, copy_project, run

SHARED = ROOT.parent / "shared" / "data"
PHOTOS = 20

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="real photos are not beside this checkout (../shared/data)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty MMVP photos, one of them cut short, and MMBench; all 19 corruptions at two severities."""
    folder = copy_project(tmp_path_factory.mktemp("photos"))
    photos = folder / "data" / "mmvp" / "MMVP Images"
    photos.mkdir(parents=True)
    rows = list(csv.reader((SHARED / "mmvp" / "Questions.csv").open(encoding="utf-8-sig")))[: PHOTOS + 1]
    with (photos.parent / "Questions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    for number in range(1, PHOTOS + 1):
        shutil.copy(SHARED / "mmvp" / "MMVP Images" / f"{number}.jpg", photos)
    whole = (photos / "7.jpg").read_bytes()
    (photos / "7.jpg").write_bytes(whole[: len(whole) // 2])
    shutil.copy(SHARED / "mmbench" / "mmbench-en.tsv", folder / "data")
    config = yaml.safe_load((folder / "tests/workflow/photos.yaml").read_text())
    config["datasets"] = {
        "mmvp": {"importer": "mmvp", "folder": "data/mmvp"},
        "mmbench": {"importer": "mmbench", "file": "data/mmbench-en.tsv"},
    }
    config["pool"] = {"quotas": {"mmvp": None, "mmbench": 5}}
    config["corruptions"] = {"severities": [1, 5], "reference_side": 128}
    config["selection"]["target"] = 12
    (folder / "photos.yaml").write_text(yaml.safe_dump(config))
    done = run(folder, "--quiet", "rules", "--", "all", config="photos.yaml")
    assert done.returncode == 0, done.stdout
    return folder


def rows(folder, name):
    return pq.read_table(folder / "results" / name)


def test_i04_the_cut_photo_is_set_aside_with_its_name_and_the_rest_goes_on(folder):
    (aside,) = rows(folder, "datasets/mmvp/rejected.parquet").to_pylist()
    assert "7.jpg" in aside["reason"]
    assert rows(folder, "datasets/mmvp/items.parquet").num_rows == PHOTOS - 1


def test_pool_takes_all_of_one_and_five_of_the_other(folder):
    assert rows(folder, "datasets/pool/items.parquet").num_rows == PHOTOS - 1 + 5


def test_every_photo_stands_under_all_19_corruptions(folder):
    images = rows(folder, "datasets/pool/images.parquet").num_rows
    shards = [
        rows(folder, f"corrupted/pool/{f}.parquet") for f in ("photometric", "noise", "blur", "weather", "digital")
    ]
    assert sum(shard.num_rows for shard in shards) == images * 19 * 2
    assert len({name for shard in shards for name in shard["corruption"].to_pylist()}) == 19


def test_rows_in_are_rows_scored_plus_rows_set_aside(folder):
    table = pd.read_csv(folder / "results" / "ras_table.csv")
    assert set(table["model"]) == {"qwen-demo", "llava-demo"}
    assert (table["items"] + table["set_aside"] == 12).all()
    assert (table["cells"] + table["cells_set_aside"] == 12 * 19 * 2).all()
    assert table["ras"].between(-2, 1).all()
