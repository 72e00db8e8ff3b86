"""Whole shards: contract, determinism, row accounting, failure."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.corruptions import RANDOM, SEVERITIES
from vlmdx.corruptions import shards as module
from vlmdx.corruptions.quality import luma, psnr, ssim
from vlmdx.corruptions.shards import corrupt_images, write_shard
from vlmdx.images import from_png, pixel_sha256
from vlmdx.schema import ContractError, read_provenance, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, IMAGES

NAMES = ["gaussian_noise", "snow", "frost"]


def hashes(rows):
    return {(row["image_id"], row["corruption"], row["severity"]): row["sha256"] for row in rows}


@pytest.fixture(scope="module")
def six(photos):
    return {f"mmvp:{number}": photo for number, photo in enumerate(photos)}


@pytest.fixture(scope="module")
def one_worker(six, table):
    return list(corrupt_images(table(six), NAMES, SEVERITIES, seed=0, reference_side=96))


def test_rows_in_order_with_contract_columns(six, one_worker):
    expected = [(image, name, severity) for image in six for name in NAMES for severity in SEVERITIES]
    assert list(hashes(one_worker)) == expected
    for row in one_worker:
        assert list(row) == CORRUPTED.schema.names
        rgb = from_png(row["image"]["bytes"])
        assert max(rgb.shape) == 96 and pixel_sha256(rgb) == row["sha256"]
        assert row["seed"] is not None and row["psnr"] > 0 and -1 <= row["ssim"] < 1


def test_c05_workers_order_and_company_do_not_matter(six, table, one_worker, monkeypatch):
    def run(images, **options):
        return hashes(corrupt_images(table(images), NAMES, SEVERITIES, seed=0, reference_side=96, **options))

    wanted = hashes(one_worker)
    monkeypatch.setattr(module, "WORTH_A_WORKER", 1)
    four = run(six, workers=4)
    monkeypatch.undo()
    assert four == wanted and list(four) == list(wanted)
    assert run(dict(reversed(six.items()))) == wanted
    alone = run({"mmvp:4": six["mmvp:4"]})
    assert alone == {key: value for key, value in wanted.items() if key[0] == "mmvp:4"}
    copied = run({"mmvp:4": six["mmvp:4"], "copy": six["mmvp:4"]})
    assert all(copied["copy", *key[1:]] == value for key, value in alone.items())


def test_clean_shard_holds_the_image_at_reference_resolution(noise, table):
    images = table({"a": noise(40, 60), "b": noise(20, 20), "c": noise(400, 100)})
    rows = list(corrupt_images(images, [], [], seed=0, reference_side=200))
    assert [(r["corruption"], r["severity"], r["seed"], r["psnr"], r["ssim"]) for r in rows] == [
        ("clean", 0, None, None, 1.0)
    ] * 3
    assert [from_png(row["image"]["bytes"]).shape for row in rows] == [(60, 40, 3), (32, 32, 3), (50, 200, 3)]


def test_an_image_that_does_not_change_has_no_psnr_and_a_deterministic_corruption_no_seed(table):
    flat = np.zeros((40, 40, 3), dtype=np.uint8)
    rows = list(corrupt_images(table({"flat": flat}), ["contrast"], [1, 5], seed=0, reference_side=64))
    assert [(row["psnr"], row["ssim"], row["seed"]) for row in rows] == [(None, 1.0, None)] * 2
    assert "contrast" not in RANDOM


def test_psnr_and_ssim_against_hand_and_library(noise):
    clean = np.full((8, 8, 3), 100, dtype=np.uint8)
    assert psnr(clean, clean + 10) == pytest.approx(20 * np.log10(255 / 10), abs=1e-6)
    assert psnr(clean, clean) is None
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    a, b = noise(50, 40), noise(40, 50).reshape(40, 50, 3)
    assert psnr(a, b) == pytest.approx(peak_signal_noise_ratio(a, b), rel=1e-6)
    grey = structural_similarity(luma(a).astype(np.uint8), luma(b).astype(np.uint8))
    assert ssim(luma(a), luma(b)) == pytest.approx(grey, abs=1e-5)
    assert ssim(luma(a), luma(a)) == pytest.approx(1)


def test_c04_time_per_corruption_is_reported(noise, table, capsys):
    list(corrupt_images(table({"a": noise(40, 40)}), ["fog", "contrast"], [1], seed=0, reference_side=64))
    told = capsys.readouterr()
    assert told.out == ""
    assert all(name in told.err for name in ("fog", "contrast")) and " s " in told.err
    assert "1/1" in told.err


def test_a_shard_from_a_file_is_streamed_in_row_groups_with_provenance(noise, table, tmp_path, monkeypatch):
    write_table(tmp_path / "images.parquet", table({f"i:{n}": noise(40 + n, 40) for n in range(20)}), IMAGES)
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 30_000)
    rows = list(corrupt_images(tmp_path / "images.parquet", ["fog"], [1, 2], seed=0, reference_side=64))
    assert write_shard(tmp_path / "fog.parquet", iter(rows), {"rule": "corrupt"}) == 40
    assert pq.ParquetFile(tmp_path / "fog.parquet").num_row_groups > 5
    # written cell by cell, so that a reader of one cell skips the row groups of the others
    by_cell = sorted(rows, key=lambda row: row["severity"])
    assert read_table(tmp_path / "fog.parquet", CORRUPTED).to_pylist() == [
        {**row, "psnr": np.float32(row["psnr"]), "ssim": np.float32(row["ssim"])} for row in by_cell
    ]
    metadata = pq.read_metadata(tmp_path / "fog.parquet")
    severity = CORRUPTED.schema.names.index("severity")
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(severity).statistics
        assert statistics.min == statistics.max
    assert read_provenance(tmp_path / "fog.parquet") == {"rule": "corrupt"}
    write_shard(tmp_path / "again.parquet", iter(rows), {"rule": "corrupt"})
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "fog.parquet").read_bytes()


def test_nothing_is_left_behind_when_a_shard_fails(noise, table, tmp_path, monkeypatch):
    images = table({"a": noise(40, 40), "b": noise(3, 700)})
    rows = corrupt_images(images, ["fog"], [1], seed=0, reference_side=64)
    with pytest.raises(ValueError, match=r"image b: .*700 is more than 200 times"):
        write_shard(tmp_path / "fog.parquet", rows)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ContractError, match="no row to write"):
        write_shard(tmp_path / "fog.parquet", [])
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 1)  # the repeat lies in another row group
    one = list(corrupt_images(table({"a": noise(40, 40)}), ["fog"], [1], seed=0, reference_side=64))
    with pytest.raises(ContractError, match=r"not unique.*'a', 'fog', 1"):
        write_shard(tmp_path / "fog.parquet", one * 2)
    assert list(tmp_path.iterdir()) == []


def test_unreadable_and_empty_inputs_are_named(tmp_path, table, noise):
    with pytest.raises(ContractError, match="no image to corrupt"):
        list(corrupt_images(IMAGES.schema.empty_table(), [], [], seed=0, reference_side=64))
    (tmp_path / "images.parquet").write_bytes(b"")
    with pytest.raises(ContractError, match=r"images\.parquet: not a readable images file"):
        list(corrupt_images(tmp_path / "images.parquet", [], [], seed=0, reference_side=64))
    with pytest.raises(ContractError, match="sha256"):
        images = table({"a": noise(40, 40)}).drop_columns(["sha256"])
        list(corrupt_images(images, [], [], seed=0, reference_side=64))
    broken = table({"a": noise(40, 40)}).to_pylist()
    broken[0]["image"]["bytes"] = broken[0]["image"]["bytes"][:100]
    with pytest.raises(ValueError, match="image a: "):
        list(corrupt_images(pa.Table.from_pylist(broken, IMAGES.schema), [], [], seed=0, reference_side=64))


def test_script_writes_the_shard_of_a_family(noise, table, tmp_path, monkeypatch, capsys):
    import runpy
    from pathlib import Path

    write_table(tmp_path / "images.parquet", table({"a": noise(40, 40), "b": noise(60, 40)}), IMAGES)
    script = Path(__file__).parents[2] / "workflow" / "scripts" / "corrupt.py"
    main = runpy.run_path(str(script))["main"]
    monkeypatch.setitem(main.__globals__, "footer", lambda snakemake: {"rule": "corrupt"})
    settings = {"corruptions": ["snow", "spatter"], "severities": [1, 3], "seed": 0, "reference_side": 64}
    main(
        SimpleNamespace(
            input=SimpleNamespace(images=str(tmp_path / "images.parquet")),
            output=[str(tmp_path / "weather.parquet")],
            params=SimpleNamespace(settings=settings, digest="x"),
            threads=1,
        )
    )
    assert read_table(tmp_path / "weather.parquet", CORRUPTED).num_rows == 8
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("weather.parquet: 8 image versions of 2 images = 8 written + 0 set aside")
