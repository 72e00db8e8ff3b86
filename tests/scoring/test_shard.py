"""Whole shards: resumption, selection, accounting, provenance."""

import hashlib
import io
import json

import numpy as np
import pytest
import torch
from PIL import Image
from vlmdx.schema import ContractError, read_provenance, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, ITEMS, SCORES, SELECTION
from vlmdx.scoring import shard
from vlmdx.scoring.shard import score_shard

from tests.scoring.stub import Stub, item, letters

CELLS = [("fog", 1), ("fog", 2), ("fog", 3), ("snow", 1)]


def by_pixel(prompt, image, given):
    """Logits that depend on the image's content and on the question."""
    return letters(A=np.asarray(image)[0, 0, 0] / 50, B=len(prompt) / 9)


def corrupted_row(image_id, corruption, severity, seed):
    image = Image.fromarray(np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return {
        "image_id": image_id,
        "corruption": corruption,
        "severity": severity,
        "image": {"bytes": buffer.getvalue(), "path": None},
        "sha256": hashlib.sha256(image.tobytes()).hexdigest(),
        "seed": seed,
        "psnr": None,
        "ssim": 1.0,
    }


@pytest.fixture
def inputs(tmp_path):
    """An item table of 6 items on 3 images and a shard of 4 cells."""
    items = [item(f"i{n}", ["x", "y"], answer=n % 2, image_id=f"g{n % 3}", question="?" * n) for n in range(6)]
    images = [corrupted_row(f"g{n}", c, s, 10 * k + n) for n in range(3) for k, (c, s) in enumerate(CELLS)]
    write_table(tmp_path / "items.parquet", items, ITEMS)
    write_table(tmp_path / "weather.parquet", images, CORRUPTED)
    return tmp_path


def run(folder, adapter=None, **changes):
    """Score the shard; returns the stub and the output's path."""
    adapter = adapter or Stub(by_pixel)
    output = folder / "results" / "Qwen2.5-VL" / "pool" / "weather.parquet"
    settings = {
        "items": folder / "items.parquet",
        "corrupted": folder / "weather.parquet",
        "output": output,
        "readout": "letter",
        "template": "{question}\n{options}",
        "batch_tokens": 12,
        "digest": "d",
        "provenance": {"rule": "score"},
    }
    line = score_shard(adapter, **{**settings, **changes})
    return adapter, output, line


def test_every_item_has_a_row_per_option_and_cell(inputs):
    _, output, line = run(inputs)
    table = read_table(output, SCORES)
    assert table.num_rows == 6 * 2 * len(CELLS)
    assert line == "weather.parquet: 48 option rows = 48 scored + 0 set aside"
    assert [p.name for p in output.parent.iterdir()] == ["weather.parquet"]
    order = [(r["corruption"], r["severity"]) for r in table.to_pylist()[:: 6 * 2]]
    assert order == CELLS
    # the same pixels give the same numbers, other pixels others
    probs = {tuple(table.to_pylist()[12 * c + 2 * n]["prob"] for n in range(6)) for c in range(len(CELLS))}
    assert len(probs) == len(CELLS)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_killed_job_redoes_only_the_unfinished_cells(inputs, monkeypatch, after):
    _, output, _ = run(inputs)
    whole = output.read_bytes()
    output.unlink()
    calls = []

    def killed(*args, **kwargs):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(args[3:5])
        return score_cell(*args, **kwargs)

    score_cell = shard.score_cell
    monkeypatch.setattr(shard, "score_cell", killed)
    with pytest.raises(KeyboardInterrupt):
        run(inputs)
    assert not output.exists()
    assert calls == CELLS[:after]
    after, calls = -1, []
    run(inputs)
    assert calls == CELLS[len(CELLS) - len(calls) :]
    assert output.read_bytes() == whole
    assert [p.name for p in output.parent.iterdir()] == ["weather.parquet"]


def test_parts_of_other_inputs_or_settings_are_not_reused(inputs, monkeypatch):
    done = []
    score_cell = shard.score_cell

    def stop_after_two(*args, **kwargs):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(args[3:5])
        return score_cell(*args, **kwargs)

    monkeypatch.setattr(shard, "score_cell", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        run(inputs)
    changes = [{"digest": "e"}, {"template": "{question}!\n{options}"}, {"batch_tokens": 24}]
    for change in changes:
        with pytest.raises(KeyboardInterrupt):
            run(inputs, **change)  # `done` is full: the first cell to be computed stops it
    images = read_table(inputs / "weather.parquet", CORRUPTED).to_pylist()
    images[0] = corrupted_row("g0", *CELLS[0], 99)  # other pixels under the same name
    write_table(inputs / "weather.parquet", images, CORRUPTED)
    with pytest.raises(KeyboardInterrupt):
        run(inputs)
    done.clear()
    monkeypatch.setattr(shard, "score_cell", lambda *a, **k: done.append(a[3:5]) or score_cell(*a, **k))
    _, output, _ = run(inputs)
    assert done == CELLS
    assert [p.name for p in output.parent.iterdir()] == ["weather.parquet"]


def test_selection_scores_its_items_only_and_equals_the_pools_rows(inputs):
    _, output, _ = run(inputs)
    pool = read_table(output, SCORES).to_pylist()
    chosen = [{"item_id": i, "gini": 0.5, "rank": r, "similarity": None} for r, i in enumerate(["i4", "i1"])]
    write_table(inputs / "bench.parquet", chosen, SELECTION)
    _, output, _ = run(inputs, selection=inputs / "bench.parquet")
    assert read_table(output, SCORES).to_pylist() == [row for row in pool if row["item_id"] in ("i1", "i4")]


def test_selection_of_unknown_items_is_an_error(inputs):
    write_table(inputs / "bench.parquet", [{"item_id": "zz", "gini": 0, "rank": 0, "similarity": None}], SELECTION)
    with pytest.raises(ContractError, match=r"1 items are not in .*items\.parquet, first 'zz'"):
        run(inputs, selection=inputs / "bench.parquet")


def test_set_aside_rows_are_counted_by_reason(inputs):
    items = read_table(inputs / "items.parquet", ITEMS).to_pylist()
    items[0]["question"] = "REFUSE"
    items[1]["options"] = [f"o{k}" for k in range(27)]
    items[2]["image_id"] = "gone"
    write_table(inputs / "items.parquet", items, ITEMS)
    _, _, line = run(inputs)
    scored, aside = 3 * 2 * 4, (2 + 27 + 2) * 4
    assert line == (
        f"weather.parquet: {scored + aside} option rows = {scored} scored + {aside} set aside; "
        "8 x image is not in the corrupted shard; 108 x more than … options: no letter for each; "
        "8 x this prompt is refused"
    )


def test_model_without_one_scored_row_fails(inputs):
    nan = Stub(lambda *_: letters(A=float("nan")))
    with pytest.raises(ValueError, match=r"not one row could be scored.*48 x non-finite logits"):
        run(inputs, nan)
    assert not (inputs / "results" / "Qwen2.5-VL" / "pool" / "weather.parquet").exists()


def test_no_items_is_an_error(inputs):
    write_table(inputs / "items.parquet", [], ITEMS)
    with pytest.raises(ContractError, match="no items to score"):
        run(inputs)


def test_m10_footer_shows_what_the_model_saw_first(inputs):
    _, output, line = run(inputs)
    record = read_provenance(output)
    assert record["rule"] == "score"
    assert record["scoring"]["account"] == line
    assert record["scoring"]["first"]["prompt"] == "\nA. x\nB. y"
    assert record["scoring"]["first"]["target_ids"] == [[0], [1]]
    json.dumps(record)


def test_m11_overwritten_image_gives_new_numbers(inputs):
    adapter = Stub(by_pixel)
    _, output, _ = run(inputs, adapter)
    before = read_table(output, SCORES).to_pylist()
    images = read_table(inputs / "weather.parquet", CORRUPTED).to_pylist()
    images = [corrupted_row(r["image_id"], r["corruption"], r["severity"], 500 + n) for n, r in enumerate(images)]
    write_table(inputs / "weather.parquet", images, CORRUPTED)
    run(inputs, adapter)
    after = read_table(output, SCORES).to_pylist()
    assert all(a["prob"] != b["prob"] for a, b in zip(before, after, strict=True))
    run(inputs)  # a fresh process
    assert read_table(output, SCORES).to_pylist() == after


def test_images_are_read_in_chunks(inputs, monkeypatch):
    monkeypatch.setattr(shard, "CHUNK", 2)
    sizes = [len(chunk) for chunk in shard.cell_images(inputs / "weather.parquet", ("fog", 2), ["g0", "g1", "g2"])]
    assert sizes == [2, 1]
    (only,) = shard.cell_images(inputs / "weather.parquet", ("snow", 1), ["g1"])
    assert list(only) == ["g1"]


def test_path_with_quotes_spaces_and_braces(inputs):
    folder = inputs / "my user's dir (x) {1} é"
    folder.mkdir()
    for name in ("items.parquet", "weather.parquet"):
        (inputs / name).rename(folder / name)
    _, output, _ = run(folder)
    assert read_table(output, SCORES).num_rows == 48


def test_stub_letters_are_float32():
    assert letters(A=1.0).dtype == torch.float32
