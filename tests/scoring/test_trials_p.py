"""Section P for the scoring stage: what it reads is one explicit schema, whatever the path is called."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vlmdx.schema import ContractError, read_table, write_table
from vlmdx.schema.tables import CORRUPTED, ITEMS, SCORES

from tests.scoring.stub import item
from tests.scoring.test_shard import CELLS, corrupted_row, run

DRIFTS = {
    "corruption": lambda c: c.dictionary_encode(),
    "severity": lambda c: c.cast(pa.int32()),
    "image_id": lambda c: pa.array(range(len(c))),
    "psnr": lambda c: c.cast(pa.float64()),
}


def fill(folder, names=("g0", "g1", "g2")):
    """Items and a shard of four cells in ``folder``."""
    items = [item(f"i{n}", ["x", "y"], image_id=names[n % 3], question="?" * n) for n in range(6)]
    images = [corrupted_row(name, c, s, 10 * k + n) for n, name in enumerate(names) for k, (c, s) in enumerate(CELLS)]
    write_table(folder / "items.parquet", items, ITEMS)
    write_table(folder / "weather.parquet", images, CORRUPTED)
    return folder


@pytest.mark.parametrize("column", DRIFTS)
def test_p04_corrupted_shard_of_another_type_is_named_with_its_column(tmp_path, column):
    path = fill(tmp_path) / "weather.parquet"
    table = pq.read_table(path)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, DRIFTS[column](table[column])), path)
    with pytest.raises(ContractError, match=rf"weather\.parquet: column '{column}' is"):
        run(tmp_path)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", ["rev=main", "model=007", "severity=9", "a.b.parquet", "corruption=__HIVE_DEFAULT__"])
def test_p04_a_path_that_looks_like_a_partition_is_only_a_path(tmp_path, name):
    _, output, _ = run(fill(tmp_path / name))
    table = read_table(output, SCORES)
    assert table.num_rows == 48 and set(table["severity"].to_pylist()) == {1, 2, 3}


def test_s01_image_ids_with_slashes_dots_and_quotes_are_only_ids(tmp_path):
    names = ("val/2014/a.jpg", "a.b.c", 'it\'s "$HOME" {x}')
    _, output, line = run(fill(tmp_path, names))
    assert line == "weather.parquet: 48 option rows = 48 scored + 0 set aside"
    assert set(read_table(output, SCORES)["reason"].to_pylist()) == {None}


def test_p01_a_part_cut_short_by_a_kill_is_named_and_not_taken_for_whole(tmp_path):
    fill(tmp_path)
    _, output, _ = run(tmp_path)
    whole = output.read_bytes()
    output.write_bytes(whole[:-100])
    with pytest.raises(ContractError, match=r"weather\.parquet: not a readable scores file"):
        read_table(output, SCORES)
    run(tmp_path)
    assert output.read_bytes() == whole
