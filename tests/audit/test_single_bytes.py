"""1,000 random single-byte corruptions over all artifacts: all seen, and none meets a reader with a traceback."""

import os
import random
from pathlib import Path

from vlmdx.audit.audit import read_records
from vlmdx.audit.catalog import contract_of
from vlmdx.audit.files import hashes
from vlmdx.schema import ContractError, read_table

NUMBER = 1000


def test_p01_every_one_of_1000_flipped_bytes_is_seen(copy, monkeypatch):
    monkeypatch.chdir(copy)
    claims = {path: made for record in read_records()[0] for path, made in record["outputs"].items()}
    draw = random.Random(0)
    paths = sorted(claims)
    unseen, refused, read = [], 0, 0
    for number in range(NUMBER):
        path = draw.choice(paths)
        whole = (copy / path).read_bytes()
        position = draw.randrange(len(whole))
        with open(path, "r+b") as file:  # noqa: PTH123 -- in place, as a bad disk would
            file.seek(position)
            file.write(bytes([whole[position] ^ (1 << draw.randrange(8))]))
        file_path = Path(path)
        if hashes([file_path], cache=copy / "none.cache")[file_path] == claims[path]["sha256"]:
            unseen.append((path, position))
        contract = contract_of(path)
        if contract is not None:
            try:
                read_table(path, contract)
                read += 1
            except ContractError as error:
                assert path in str(error)
                refused += 1
        (copy / path).write_bytes(whole)
        os.utime(path, ns=(number, number))  # the cache must not take the mended file for the broken one
    assert not unseen
    assert refused > 20 and read + refused > 200
