"""1,000 random single-byte corruptions over all artifacts: all seen, and none meets a reader with a traceback."""

import os
import random
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import connect, contract_of
from vlmdx.audit.csv_views import csv_view
from vlmdx.audit.files import hashes
from vlmdx.config.paths import RESOLVED_CONFIG
from vlmdx.config.resolved import resolved_is_whole
from vlmdx.provenance.parts import read_parts
from vlmdx.provenance.record import DamagedRecord, read_record, record_files
from vlmdx.schema import ContractError, read_table
from vlmdx.selection.embeddings import read_embeddings

from tests.audit.conftest import vlmdx

NUMBER = 1000
REFUSED = (ContractError, duckdb.Error)  # what the commands turn into one line


def flip(path, draw):
    """Change one bit in place, as a bad disk would; returns the whole content."""
    whole = Path(path).read_bytes()
    position = draw.randrange(len(whole))
    with open(path, "r+b") as file:  # noqa: PTH123 -- in place
        file.seek(position)
        file.write(bytes([whole[position] ^ (1 << draw.randrange(8))]))
    return whole


def read(path):
    """Read an artifact with every reader there is for its kind."""
    if path.endswith(".parquet") and (contract := contract_of(path)) is not None:
        try:
            read_table(path, contract)
        finally:
            duckdb.execute("SELECT * FROM read_parquet(?, hive_partitioning = false)", [path]).fetchall()
    elif path.endswith(".csv"):
        connect(csv_view(path)).execute(f'SELECT * FROM "{Path(path).stem}"').fetchall()
    elif path.endswith("embeddings.safetensors"):
        read_embeddings(path, pa.table({"item_id": ["none"]}))  # of another pool: it is refused even if it is whole
    elif path.endswith(".sql"):
        try:
            connect(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:  # a ValueError, which the command tells as well
            raise ContractError(str(error)) from error


def seen(path, claims):
    """Whether an audit sees that the file changed."""
    if path == RESOLVED_CONFIG:
        return not resolved_is_whole()
    if path in claims:
        return hashes([Path(path)], cache=Path("none.cache"))[Path(path)] != claims[path]["sha256"]
    if "/digests/" in path:
        return read_parts(Path(path).stem) is None
    try:
        read_record(Path(path))
    except DamagedRecord as error:
        return path in str(error)
    return False


def test_p01_every_one_of_1000_flipped_bytes_is_seen(whole_copy, monkeypatch):
    monkeypatch.chdir(whole_copy)
    claims = {path: made for record in read_records()[0] for path, made in record["outputs"].items()}
    about = [*record_files(), *Path("results/provenance/digests").glob("*.json"), Path(RESOLVED_CONFIG)]
    draw = random.Random(0)
    paths = sorted([*claims, *map(str, about)])
    unseen, refused = [], Counter()
    for number in range(NUMBER):
        path = draw.choice(paths)
        whole = flip(path, draw)
        if not seen(path, claims):
            unseen.append(path)
        try:
            read(path)
        except REFUSED:
            refused[Path(path).suffix] += 1
        Path(path).write_bytes(whole)
        os.utime(path, ns=(number, number))  # the cache must not take the mended file for the broken one
    assert not unseen
    assert refused[".parquet"] > 100 and {".csv", ".safetensors"} <= set(refused), refused


def test_commands_meet_flipped_bytes_with_a_line(whole_copy):
    draw = random.Random(1)
    files = [
        f for f in (whole_copy / "results").rglob("*") if f.is_file() and f.suffix in (".parquet", ".json", ".csv")
    ]
    for path in draw.sample(sorted(files), 40):
        if path.stat().st_size:
            flip(path, draw)
    flip(whole_copy / "results/catalog.sql", draw)
    (whole_copy / "results/ras_table.csv").write_bytes(b"\xff\xfe")
    for words in (
        ("audit", "--rerun"),
        ("query", "SELECT count(*) FROM scores"),
        ("why", "results/ras_table.csv", "--row", "qwen-demo"),
        ("why", "results/ras_by_severity.csv", "--row", "qwen-demo"),
        ("diff", ".", "."),
        ("crate", "crate"),
    ):
        said = vlmdx(whole_copy, *words).stdout
        assert said.strip() and "Traceback" not in said, (words, said)
