"""A shard: every image of a data set under every corruption and severity of one family, streamed to Parquet.

At any time at most ``2 x workers`` images are under way and one row group per cell is held; so memory does not grow
with the data set.
"""

import multiprocessing
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from vlmdx.corruptions import CLEAN
from vlmdx.corruptions.apply import corrupt, item_seed
from vlmdx.corruptions.quality import luma, psnr, ssim
from vlmdx.corruptions.reference import reference
from vlmdx.images import from_png, pixel_sha256, png_bytes
from vlmdx.schema.io import FOOTER_KEY, ContractError, atomic, check, footer_json
from vlmdx.schema.tables import CORRUPTED, IMAGES, Table

ROW_GROUP_BYTES = 16 << 20  # per cell; a family has up to 25 cells open at once
WORTH_A_WORKER = 400  # versions: a process imports for about two seconds before its first picture


def corrupt_images(
    images: pa.Table | str | os.PathLike,
    corruptions: Sequence[str],
    severities: Sequence[int],
    seed: int,
    reference_side: int,
    workers: int = 1,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a shard: by image in the given order, then corruption, then severity.

    The rows do not depend on ``workers``, nor on which other images are in ``images``. Progress per image and the time
    each corruption took go to stderr.

    Args:
        images: an IMAGES table or file.
        corruptions: names of the 19; empty for the clean shard, which has one row per image at severity 0.
        severities: 1 to 5, each once.
        seed: the study's seed.
        reference_side: longest side in pixels at which images are corrupted and shown.
        workers: processes at most; a small shard is made by this one alone.

    Yields:
        Dicts with the columns of CORRUPTED.

    Raises:
        ContractError: ``images`` is not what the contract says, or holds no image.
        ValueError: an image that cannot be corrupted, with its id.
    """
    cells = [(name, severity) for name in corruptions for severity in severities]
    seconds: dict[str, float] = {}
    count, source = _open(images)
    if not count:
        raise ContractError(f"{_name(images)}: no image to corrupt")
    with tqdm(total=count, desc=f"corrupt: {len(cells) or 1} version(s) per image", unit="image") as bar:
        jobs = ((image, cells, seed, reference_side) for image in source)
        # closed here and now when the reader stops early, so that no process is left behind
        with closing(_map(jobs, min(workers, 1 + count * len(cells) // WORTH_A_WORKER))) as results:
            for rows, spent in results:
                yield from rows
                for name, duration in spent.items():
                    seconds[name] = seconds.get(name, 0.0) + duration
                bar.update()
    total = sum(seconds.values()) or 1.0
    for name, duration in sorted(seconds.items(), key=lambda pair: -pair[1]):
        print(f"{name:<18} {duration:8.1f} s  {100 * duration / total:4.0f} %", file=sys.stderr)


def write_shard(
    path: str | os.PathLike, rows: Iterable[Mapping[str, Any]], provenance: Mapping[str, Any] | None = None
) -> int:
    """Write CORRUPTED rows as they come, sorted by (corruption, severity) in order of first sight; return their number.

    Rows arrive image by image and are read cell by cell: a scoring job opens one (corruption, severity) after another,
    and with the cells apart it skips the row groups of the others. So each cell is first written to a file of its own.
    The shard appears under its name when the last row is in, or not at all.

    Raises:
        ContractError: a row breaks the contract, a key repeats, or there is no row.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as folder:
        cells: dict[tuple[str, int], _Cell] = {}
        for row in rows:
            key = (row["corruption"], row["severity"])
            if key not in cells:
                cells[key] = _Cell(Path(folder) / f"{len(cells)}.parquet", path)
            cells[key].add(row)
        if not cells:
            raise ContractError(f"{path}: no row to write; an empty shard would pass for a finished one")
        metadata = {FOOTER_KEY: footer_json(provenance)}
        schema = CORRUPTED.schema.with_metadata(metadata)
        # level 1: the pictures are compressed already, only the other columns gain
        with (
            atomic(path) as temporary,
            pq.ParquetWriter(
                temporary, schema, compression="zstd", compression_level=1, write_page_checksum=True
            ) as writer,
        ):
            for cell in cells.values():
                for group in cell.close():
                    writer.write_table(group.replace_schema_metadata(metadata), row_group_size=group.num_rows)
        return sum(len(cell.images) for cell in cells.values())


class _Cell:
    """The rows of one (corruption, severity), spilled to a file in groups of about 16 MiB of pictures."""

    def __init__(self, spill: Path, where: str | os.PathLike) -> None:
        self.spill, self.where = spill, where
        self.writer = pq.ParquetWriter(spill, CORRUPTED.schema, compression="none")
        self.images: set[str] = set()
        self.group: list[Mapping[str, Any]] = []
        self.size = 0

    def add(self, row: Mapping[str, Any]) -> None:
        if row["image_id"] in self.images:
            key = tuple(row[name] for name in CORRUPTED.key)
            raise ContractError(f"{self.where}: corrupted key {CORRUPTED.key} is not unique, first repeat: {key}")
        self.images.add(row["image_id"])
        self.group.append(row)
        self.size += len(row["image"]["bytes"])
        if self.size >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> Iterator[pa.Table]:
        """The row groups, in order."""
        self._flush()
        self.writer.close()
        with pq.ParquetFile(self.spill) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number)

    def _flush(self) -> None:
        if self.group:
            table = check(pa.Table.from_pylist(self.group, schema=CORRUPTED.schema), CORRUPTED, self.where)
            self.writer.write_table(table, row_group_size=table.num_rows)
        self.group, self.size = [], 0


Job = tuple[dict[str, Any], list[tuple[str, int]], int, int]
Result = tuple[list[dict[str, Any]], dict[str, float]]


def _map(jobs: Iterator[Job], workers: int) -> Generator[Result, None, None]:
    """``map(_corrupt_image, jobs)`` over processes, in order, with at most ``2 x workers`` images under way."""
    if workers <= 1:
        before = cv2.getNumThreads()
        _one_thread()
        try:
            yield from map(_corrupt_image, jobs)
        finally:
            cv2.setNumThreads(before)
        return
    # spawn: a forked child would inherit Arrow's and OpenCV's threads in whatever state they are
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                pending.append(pool.submit(_corrupt_image, job))
                if len(pending) >= 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _one_thread() -> None:
    cv2.setNumThreads(1)


def _corrupt_image(job: Job) -> Result:
    """All rows of one image, and the seconds spent per corruption (encoding and measuring included)."""
    image, cells, seed, side = job
    try:
        clean = reference(from_png(image["image"]["bytes"]), side)
    except (OSError, ValueError) as error:
        raise ValueError(f"image {image['image_id']}: {error}") from error
    content, clean_luma = pixel_sha256(clean), luma(clean)

    def row(name: str, severity: int) -> dict[str, Any]:
        out = corrupt(clean, name, severity, seed) if severity else clean
        return {
            "image_id": image["image_id"],
            "corruption": name,
            "severity": severity,
            "image": {"bytes": png_bytes(out), "path": None},
            "sha256": pixel_sha256(out),
            "seed": item_seed(content, name, severity, seed) if severity else None,
            "psnr": psnr(clean, out),
            "ssim": ssim(clean_luma, luma(out)),
        }

    rows, seconds = [], {name: 0.0 for name, _ in cells or [(CLEAN, 0)]}
    for name, severity in cells or [(CLEAN, 0)]:
        start = time.perf_counter()
        rows.append(row(name, severity))
        seconds[name] += time.perf_counter() - start
    return rows, seconds


def _open(images: pa.Table | str | os.PathLike) -> tuple[int, Iterator[dict[str, Any]]]:
    """Number of images, and their rows read a few at a time."""
    if isinstance(images, pa.Table):
        table = check(images, IMAGES, _name(images))
        return table.num_rows, _rows(table.to_batches(max_chunksize=16), IMAGES, _name(images))
    try:
        file = pq.ParquetFile(images)
        return file.metadata.num_rows, _rows(file.iter_batches(batch_size=16), IMAGES, _name(images))
    except (OSError, pa.ArrowInvalid) as error:
        raise ContractError(f"{images}: not a readable images file ({error}); remove it and run again") from error


def _rows(batches: Iterable[pa.RecordBatch], contract: Table, where: str) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from check(pa.Table.from_batches([batch]), contract, where).to_pylist()


def _name(images: pa.Table | str | os.PathLike) -> str:
    return "images table" if isinstance(images, pa.Table) else os.fspath(images)
