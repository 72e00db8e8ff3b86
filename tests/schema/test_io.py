"""The contracts are kept at every write and read."""

import math
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from vlmdx.schema import ContractError, atomic, read_provenance, read_table, write_table
from vlmdx.schema.tables import GINI, SELECTION

ROW = {"item_id": "shapes:1", "gini": 0.5, "rank": 0, "similarity": None}


def test_round_trip_keeps_rows_types_and_provenance(tmp_path):
    path = tmp_path / "bench.parquet"
    write_table(path, [ROW], SELECTION, {"rule": "select_bench"})
    assert read_table(path, SELECTION).to_pylist() == [ROW]
    assert read_provenance(path) == {"rule": "select_bench"}
    assert pq.read_metadata(path).row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW | {"extra": 1}], "unknown or missing columns"),
        ([{k: v for k, v in ROW.items() if k != "rank"}], "unknown or missing columns"),
        ([ROW, ROW], "not unique"),
        ([ROW | {"gini": math.nan}], "NaN"),
        ([ROW | {"gini": None}], "NULL"),
        ([ROW | {"rank": "first"}], "does not fit"),
    ],
)
def test_a_broken_contract_names_file_and_fault(tmp_path, rows, message):
    path = tmp_path / "bench.parquet"
    with pytest.raises(ContractError, match=message) as caught:
        write_table(path, rows, SELECTION)
    assert "bench.parquet" in str(caught.value)
    assert not list(tmp_path.iterdir()), "nothing may be left behind"


def test_p01_cut_and_empty_files_are_named(tmp_path):
    good = tmp_path / "good.parquet"
    write_table(good, [ROW], SELECTION)
    cut, empty = tmp_path / "cut.parquet", tmp_path / "empty.parquet"
    cut.write_bytes(good.read_bytes()[:-100])
    empty.write_bytes(b"")
    for bad in (cut, empty, tmp_path / "absent.parquet"):
        with pytest.raises(ContractError, match=bad.name):
            read_table(bad, SELECTION)


def test_a_file_of_another_contract_is_refused(tmp_path):
    path = tmp_path / "gini.parquet"
    write_table(path, [{"item_id": "a", "gini": None, "voters": 0}], GINI)
    with pytest.raises(ContractError, match="misses columns"):
        read_table(path, SELECTION)


def test_p01_kill_in_mid_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    script = (
        "import sys, time\nfrom vlmdx.schema import atomic\n"
        "with atomic(sys.argv[1]) as t:\n    t.write_text('half')\n"
        "    print('written', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"written"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert path.read_text() == "old"


def test_atomic_removes_its_temporary_file_on_an_exception(tmp_path):
    with pytest.raises(RuntimeError), atomic(tmp_path / "x.csv") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_atomic_keeps_the_suffix_for_writers_that_look_at_it(tmp_path):
    with atomic(tmp_path / "figure.svg") as temporary:
        assert temporary.suffix == ".svg"
        temporary.write_text(str(time.time()))
    assert (tmp_path / "figure.svg").is_file()
