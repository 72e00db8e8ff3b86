"""Rule score's script on tiny models of the real architectures and a real shard."""

import importlib.util
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from snakemake.iocontainers import Namedlist
from vlmdx.schema import read_provenance, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, ITEMS, SCORES

from tests.models import tiny
from tests.scoring.stub import item

SCRIPT = Path(__file__).resolve().parents[2] / "workflow" / "scripts" / "score.py"
SIZES = [(56, 56), (500, 375), (900, 300), (20, 20)]
SETTINGS = {
    "revision": None,
    "family": None,
    "dtype": "float32",
    "device": "cpu",
    "attention": "sdpa",
    "max_pixels": None,
    "trust_remote_code": False,
    "readout": "letter",
    "batch_tokens": 1200,
    "template": "{question}\n{options}\nAnswer with the option's letter from the given choices directly.",
}


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    """Items with prompts of very different length on images of very different shape, clean and in two cells."""
    folder = tmp_path_factory.mktemp("shard")
    items, images = [], []
    for i, size in enumerate(SIZES):
        for k, words in enumerate((4, 200)):
            options = [f"option {n}" for n in range(2 + 3 * k)]
            items.append(item(f"d:{i}-{k}", options, answer=k, image_id=f"d:{i}", question="what color is " * words))
        for severity in (1, 2):
            buffer, picture = io.BytesIO(), tiny.picture(*size, seed=severity)
            picture.save(buffer, "PNG")
            images.append(
                {
                    "image_id": f"d:{i}",
                    "corruption": "fog",
                    "severity": severity,
                    "image": {"bytes": buffer.getvalue(), "path": None},
                    "sha256": f"{i}-{severity}",
                    "seed": None,
                    "psnr": 20.0,
                    "ssim": 0.5,
                }
            )
    write_table(folder / "items.parquet", items, ITEMS)
    write_table(folder / "weather.parquet", images, CORRUPTED)
    return folder


@pytest.fixture(scope="module", params=["qwen", "llava"])
def model(request, tmp_path_factory):
    return tiny.build(request.param, tmp_path_factory.mktemp("models") / request.param)


def score(shard, model, output, **settings):
    """Run the script's ``main`` as Snakemake would; returns the rows."""
    spec = importlib.util.spec_from_file_location("score_script", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    inputs = {"questions": str(shard / "items.parquet"), "corrupted": str(shard / "weather.parquet")}
    script.main(
        SimpleNamespace(
            rule="score",
            input=Namedlist(fromdict=inputs),
            output=[str(output)],
            params=Namedlist(fromdict={"digest": "d", "settings": {"source": str(model), **SETTINGS, **settings}}),
            wildcards=Namedlist(fromdict={"model": "tiny-v1-5", "itemset": "pool", "family": "weather"}),
            threads=1,
            log=[],
        )
    )
    return read_table(output, SCORES).to_pylist()


def test_m06_score_is_the_same_in_any_batch(shard, model, tmp_path):
    rows = score(shard, model, tmp_path / "a" / "weather.parquet")
    single = score(shard, model, tmp_path / "b" / "weather.parquet", batch_tokens=1)
    assert len(rows) == len(SIZES) * 2 * (2 + 5)
    assert {row["reason"] for row in rows} == {None}
    for one, other in zip(rows, single, strict=True):
        assert one["prob"] == pytest.approx(other["prob"], abs=1e-4)
        assert one["chosen"] == other["chosen"]
    assert len({round(row["prob"], 6) for row in rows}) > len(rows) / 2
    assert read_provenance(tmp_path / "a" / "weather.parquet")["settings"]["batch_tokens"] == 1200


def test_text_readout_of_a_real_architecture(shard, model, tmp_path):
    template = "{question}\nAnswer the question using a single word or phrase."
    rows = score(shard, model, tmp_path / "weather.parquet", readout="text", template=template)
    assert all(row["text_sum"] < row["text_mean"] < 0 for row in rows)
    totals = {}
    for row in rows:
        key = row["item_id"], row["severity"]
        totals[key] = totals.get(key, 0) + row["prob"]
    np.testing.assert_allclose(list(totals.values()), 1, rtol=1e-5)


def test_m09_image_tokens_are_stored_per_row(shard, model, tmp_path):
    tokens = {row["item_id"]: row["image_tokens"] for row in score(shard, model, tmp_path / "weather.parquet")}
    if "qwen" in str(model.name):
        assert tokens["d:0-0"] == 4 and tokens["d:1-0"] == 18 * 13 and tokens["d:2-1"] == 32 * 11
    else:
        assert set(tokens.values()) == {25}
