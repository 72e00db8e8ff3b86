"""The three scripts on small files: what they write, and that they write the same again."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.images import pixel_sha256, png_bytes
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, GINI, ITEMS, SCORES, SELECTION
from vlmdx.selection.embeddings import read_embeddings, write_embeddings

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
LLAVA = SCRIPTS.parents[1] / "resources" / "models" / "llava-demo"
SETTINGS = {"target": 3, "weight_gini": 0.5, "weight_image": 0.5, "max_similarity": 0.9, "severities": [1, 2]}


def run(name, monkeypatch, **job):
    main = runpy.run_path(str(SCRIPTS / f"{name}.py"))["main"]
    monkeypatch.setitem(main.__globals__, "footer", lambda snakemake, **extra: {"rule": name, **extra})
    main(SimpleNamespace(**job, threads=1))


def params(**settings):
    return SimpleNamespace(digest="x", settings=settings)


def cut_bench(monkeypatch, job, pool, folder):
    cut = SimpleNamespace(scores=pool, selection=job.output.selection)
    output = SimpleNamespace(scores=[str(folder / Path(shard).name) for shard in pool])
    run("cut_bench", monkeypatch, input=cut, output=output, params=params())


def items_file(path, items):
    rows = [
        dict.fromkeys(ITEMS.schema.names)
        | {"item_id": item, "dataset": "d", "image_id": image, "question": f"What is {item}?", "options": ["p", "q"]}
        for item, image in items.items()
    ]
    write_table(path, pa.Table.from_pylist(rows, schema=ITEMS.schema), ITEMS)
    return path


@pytest.fixture
def job(tmp_path, shards):
    """Inputs and outputs of select_bench for six items and two voters."""
    rng = np.random.default_rng(1)
    names = [f"i{n}" for n in range(6)]
    scores = []
    for voter in ("m-a", "m-b"):
        answers = {name: {"fog": [0, n % 3, n % 2]} for n, name in enumerate(names)}
        answers["i5"] = {"fog": [0, None, 0]}
        scores += shards(voter, answers)
    vectors = [rng.normal(size=(6, 5)) for _ in range(2)]
    image, text = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors)
    write_embeddings(tmp_path / "e.safetensors", names[::-1], image, text)
    output = {name: str(tmp_path / "out" / name) for name in ("selection", "gini", "ids")}
    return SimpleNamespace(
        input=SimpleNamespace(
            questions=str(items_file(tmp_path / "items.parquet", dict.fromkeys(names, "im"))),
            embeddings=str(tmp_path / "e.safetensors"),
            scores=[str(path) for path in scores],
        ),
        output=SimpleNamespace(**output),
        params=params(**SETTINGS),
    )


def test_select_bench_then_cut_bench(job, tmp_path, monkeypatch, capsys):
    run("select_bench", monkeypatch, **vars(job))
    selection = read_table(job.output.selection, SELECTION)
    gini = read_table(job.output.gini, GINI)
    assert selection.num_rows == 3 and gini.num_rows == 6
    assert gini.filter(pa.compute.is_null(gini["gini"]))["item_id"].to_pylist() == ["i5"]
    assert Path(job.output.ids).read_text().splitlines() == selection["item_id"].to_pylist()
    told = capsys.readouterr().err
    assert "selected 3 of 3 wanted" in told
    assert "6 items = 3 chosen + 3 set aside; 1 x no voter has a whole trajectory; 2 x not chosen" in told
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    job.input.scores.reverse()
    run("select_bench", monkeypatch, **vars(job))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before

    pool = sorted(job.input.scores)[:2]  # clean and fog of the first voter
    for folder in ("one", "two"):
        cut_bench(monkeypatch, job, pool, tmp_path / folder)
    chosen = set(selection["item_id"].to_pylist())
    told = capsys.readouterr().err.splitlines()
    rows = pq.read_table(pool[0]).num_rows
    assert f"{pool[0]}: {rows} option rows = {rows // 2} of the bench + {rows // 2} of items not chosen" in told
    for shard in map(Path, pool):
        assert (tmp_path / "one" / shard.name).read_bytes() == (tmp_path / "two" / shard.name).read_bytes()
        kept = read_table(tmp_path / "one" / shard.name, SCORES).to_pylist()
        assert kept == [row for row in pq.read_table(shard).to_pylist() if row["item_id"] in chosen]
        assert {row["item_id"] for row in kept} == chosen


def test_p06_cut_bench_refuses_a_shard_of_another_pool(job, tmp_path, shards, monkeypatch):
    run("select_bench", monkeypatch, **vars(job))
    other = shards("m-c", {"i0": {"fog": [0, 1, 1]}})[0]
    with pytest.raises(ContractError, match=r"clean\.parquet: no row of \d chosen item\(s\)"):
        cut_bench(monkeypatch, job, [str(other)], tmp_path / "one")
    assert not list((tmp_path / "one").glob("*"))


@pytest.mark.skipif(not (LLAVA / "config.json").exists(), reason="resources/models/llava-demo is not there")
def test_embed_pool_gives_each_item_its_images_vector(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    pictures = {f"im{n}": rng.integers(0, 256, (40 + n, 40, 3), dtype=np.uint8) for n in range(3)}
    rows = [
        {
            "image_id": image_id,
            "corruption": "clean",
            "severity": 0,
            "image": {"bytes": png_bytes(rgb), "path": None},
            "sha256": pixel_sha256(rgb),
            "seed": None,
            "psnr": None,
            "ssim": 1.0,
        }
        for image_id, rgb in pictures.items()
    ]
    write_table(tmp_path / "clean.parquet", rows, CORRUPTED)
    items = items_file(tmp_path / "items.parquet", {"a": "im2", "b": "im0", "c": "im2"})
    files = SimpleNamespace(questions=str(items), images=str(tmp_path / "clean.parquet"))
    settings = {"image_encoder": str(LLAVA), "image_revision": None, "text_encoder": "minilm", "text_revision": None}
    run("embed_pool", monkeypatch, input=files, output=[str(tmp_path / "e.safetensors")], params=params(**settings))
    image, text = read_embeddings(tmp_path / "e.safetensors", read_table(items, ITEMS))
    assert image.shape[0] == text.shape[0] == 3
    assert np.array_equal(image[0], image[2]) and not np.allclose(image[0], image[1], atol=1e-4)
    assert not np.allclose(text[0], text[2], atol=1e-4)
