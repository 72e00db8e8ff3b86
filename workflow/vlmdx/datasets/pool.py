"""Draw the pool of candidates from the data sets: so many of each, chosen by a hash of seed and item id."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tqdm import tqdm

from vlmdx.datasets.records import DatasetError
from vlmdx.datasets.spill import BATCH, Spill
from vlmdx.schema import ContractError, read_table
from vlmdx.schema.tables import IMAGES, ITEMS, REJECTED


@dataclass(frozen=True)
class Pool:
    """Drawn items, items without gold, and the account in words, one line per data set."""

    items: pa.Table
    rejected: pa.Table
    lines: list[str]


def draw_pool(items: Mapping[str, pa.Table], quotas: Mapping[str, int | None], seed: int) -> Pool:
    """Draw ``quotas[dataset]`` items of each data set, or all where the quota is None.

    An item's rank depends on seed and item id alone: a larger quota keeps every earlier choice, and data sets do not
    influence each other. Only items with a gold answer can enter; the others are set aside, because correctness is
    needed everywhere behind the pool.

    Raises:
        DatasetError: a data set without quota, a quota below 1, or a data set that has no item with gold.
    """
    drawn, rejected, lines = [], [], []
    for name, table in items.items():
        if name not in quotas:
            raise DatasetError(
                f"pool: data set {name} has no quota; quotas are given for {', '.join(quotas) or 'none'}"
            )
        quota = quotas[name]
        if quota is not None and quota < 1:
            raise DatasetError(f"pool: the quota of {name} is {quota}; give 1 or more, or leave the data set out")
        golden = table.filter(pc.is_valid(table["answer"]))
        if not len(golden):
            raise DatasetError(f"pool: none of the {len(table)} items of {name} has a gold answer; leave it out")
        order = sorted(range(len(golden)), key=_ranks(golden["item_id"].to_pylist(), seed).__getitem__)
        chosen = golden.take(sorted(order[:quota]))
        drawn.append(chosen)
        without = table.filter(pc.is_null(table["answer"]))["item_id"].to_pylist()
        rejected += [
            {
                "source": f"{name}/items.parquet",
                "position": item_id,
                "item_id": item_id,
                "reason": "no gold answer in the source; the pool needs one to know what is right",
            }
            for item_id in without
        ]
        left = len(golden) - len(chosen)
        lines.append(
            f"pool: {name}: {len(table)} items = {len(chosen)} drawn + {len(without)} without gold + {left} not drawn"
        )
        if quota is not None and quota > len(golden):
            lines.append(
                f"pool: WARNING {name} has {len(golden)} items with gold, the quota asks for {quota}: all taken"
            )
    return Pool(
        pa.concat_tables(drawn) if drawn else ITEMS.schema.empty_table(),
        pa.Table.from_pylist(rejected, schema=REJECTED.schema),
        lines,
    )


def gather_images(sources: Iterable[Path], items: pa.Table, spill: Spill) -> pa.Table:
    """The images of ``items`` out of the data sets' image tables, without holding all of them in memory.

    Raises:
        ContractError: an item's image is in none of the tables.
    """
    wanted = pc.unique(items["image_id"])
    found: set[str] = set()
    for path in sources:
        read_table(path, IMAGES, columns=["image_id"])  # checks the contract before rows are copied
        with pq.ParquetFile(path) as file:
            for batch in tqdm(
                file.iter_batches(batch_size=BATCH), desc=f"pool images {path.parent.name}", unit=" batches"
            ):
                kept = batch.filter(pc.is_in(batch["image_id"], wanted))
                found.update(kept["image_id"].to_pylist())
                if len(kept):
                    spill.append(kept)
    if missing := sorted(set(wanted.to_pylist()) - found):
        raise ContractError(
            f"pool: image {missing[0]} and {len(missing) - 1} more are in no images.parquet; import again"
        )
    return spill.table()


def _ranks(item_ids: list[str], seed: int) -> list[bytes]:
    return [hashlib.sha256(f"{seed}:{item_id}".encode()).digest() for item_id in item_ids]
