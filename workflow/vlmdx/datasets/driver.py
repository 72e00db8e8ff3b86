"""Import one data set: run its importer, decode its images, fit its boxes, account for every row."""

import hashlib
import importlib.util
import inspect
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError, validate_call
from tqdm import tqdm

from vlmdx.datasets.account import Summary, kind
from vlmdx.datasets.boxes import fit_boxes
from vlmdx.datasets.records import DatasetError, Item, Rejected, Row, RowError, Undrawn, brief
from vlmdx.datasets.spill import Spill
from vlmdx.images import ImageError, decode, decode_file, pixel_sha256, png_bytes
from vlmdx.schema.tables import ITEMS, REJECTED

CHUNK = 64  # rows whose new images are decoded together


@dataclass(frozen=True)
class Imported:
    """The three tables of a data set; ``images`` lives in a temporary file of the caller's spill."""

    items: pa.Table
    images: pa.Table
    rejected: pa.Table
    summary: Summary


def import_items(
    name: str, importer: str, options: Mapping[str, Any], *, seed: int, max_pixels: int, spill: Spill, threads: int = 1
) -> Imported:
    """Tables of one data set.

    Each image is decoded once, however many items ask about it. An item whose image or boxes cannot be used is set
    aside, as is a second item with an id that was used before.

    Args:
        name: slug of the data set; item and image ids begin with it.
        importer: module of this folder.
        options: keyword arguments of the importer's ``read``; paths as text.
        seed: for importers that draw; passed on as ``seed``.
        max_pixels: limit of ``vlmdx.images.decode``.
        spill: takes the images.
        threads: images decoded at a time.

    Raises:
        DatasetError: unknown importer or setting, a file that is missing or unreadable as a whole, or no item left.
    """
    rows = open_importer(name, importer, options, seed)
    build = _Build(name, max_pixels, spill)
    progress = tqdm(desc=f"import {name}", unit=" rows")
    with ThreadPoolExecutor(threads) as pool:
        while chunk := list(islice(rows, CHUNK)):
            build.decode_new([row for row in chunk if isinstance(row, Item)], pool)
            for row in chunk:
                build.add(row)
            progress.update(len(chunk))
    progress.close()
    return build.finish()


def open_importer(name: str, importer: str, options: Mapping[str, Any], seed: int) -> Iterator[Row]:
    """The importer's rows, after its settings were checked; nothing is read yet.

    Raises:
        DatasetError: one message that names every wrong setting.
    """
    module = f"vlmdx.datasets.{importer}"
    read = getattr(importlib.import_module(module), "read", None) if importlib.util.find_spec(module) else None
    if read is None:
        raise DatasetError(f"data set {name}: there is no importer {importer!r}")
    known = inspect.signature(read).parameters
    given = {**options, "seed": seed} if "seed" in known else dict(options)
    try:
        return validate_call(read)(**given)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, e['loc']))} = {given.get(str(e['loc'][0]))!r}: {e['msg']}" for e in error.errors()
        )
        settings = ", ".join(k for k in known if k != "seed")
        raise DatasetError(f"data set {name}: {wrong} (importer {importer} has settings {settings})") from error


@dataclass(frozen=True)
class _Picture:
    """What the items need to know of a decoded image."""

    width: int
    height: int
    sha256: str


class _Build:
    """Grows the tables row by row."""

    def __init__(self, name: str, max_pixels: int, spill: Spill) -> None:
        self._name, self._max_pixels, self._spill = name, max_pixels, spill
        self._pictures: dict[str, _Picture | ImageError] = {}
        self._items: list[pa.RecordBatch] = []
        self._waiting: list[dict[str, Any]] = []
        self._rejected: list[dict[str, Any]] = []
        self._used: set[str] = set()  # ids of images that an item uses
        self._first: dict[str, str] = {}  # position of the first item with an id
        self._positions: Counter[tuple[str, str]] = Counter()
        self._hash = hashlib.sha256()
        self._summary = Summary()

    def decode_new(self, items: list[Item], pool: ThreadPoolExecutor) -> None:
        """Decode the images of ``items`` that were not seen before, and put them into the spill."""
        new = {item.image_id: item.image for item in items if item.image_id not in self._pictures}
        for image_id, found in zip(new, pool.map(self._decode, new, new.values()), strict=True):
            if isinstance(found, ImageError):
                self._pictures[image_id] = found
                continue
            self._spill.add(found)
            self._pictures[image_id] = _Picture(found["width"], found["height"], found["sha256"])

    def _decode(self, image_id: str, source: Path | bytes) -> dict[str, Any] | ImageError:
        try:
            if isinstance(source, bytes):
                found = decode(source, max_pixels=self._max_pixels)
            else:
                found = decode_file(source, max_pixels=self._max_pixels)
        except ImageError as error:
            return error
        return {
            "image_id": f"{self._name}:{image_id}",
            "image": {"bytes": png_bytes(found.rgb), "path": None},
            "width": found.rgb.shape[1],
            "height": found.rgb.shape[0],
            "sha256": pixel_sha256(found.rgb),
            "mode": found.mode,
            "orientation": found.orientation,
        }

    def add(self, row: Row) -> None:
        """Take one record: an item becomes a row of items or, if its image or boxes fail, of rejected."""
        if isinstance(row, Undrawn):
            self._summary.read += row.count
            self._summary.undrawn += row.count
            return
        self._summary.read += 1
        if isinstance(row, Rejected):
            self._reject(row)
            return
        try:
            self._waiting.append(self._row(row))
        except RowError as error:
            self._reject(Rejected(row.source, row.position, row.item_id, str(error)))
        if len(self._waiting) >= 4096:
            self._flush()

    def _row(self, item: Item) -> dict[str, Any]:
        if item.item_id in self._first:
            raise RowError(
                f"id {brief(item.item_id)} was used before, at row {brief(self._first[item.item_id])}; make ids unique"
            )
        picture = self._pictures[item.image_id]
        if isinstance(picture, ImageError):
            raise RowError(f"image {brief(item.image_id)}: {picture}")
        objects = item.objects
        if objects is not None:
            objects = fit_boxes(objects, item.annotated_size, (picture.width, picture.height))
        self._first[item.item_id] = item.position
        self._used.add(f"{self._name}:{item.image_id}")
        said = [item.item_id, item.question, item.options, item.answer, picture.sha256]
        self._hash.update(json.dumps(said).encode())
        self._summary.items += 1
        return {
            "item_id": f"{self._name}:{item.item_id}",
            "dataset": self._name,
            "image_id": f"{self._name}:{item.image_id}",
            "question": item.question,
            "options": list(item.options),
            "answer": item.answer,
            "category": item.category,
            "operation": item.operation,
            "program": item.program,
            "objects": None if objects is None else [asdict(box) for box in objects],
        }

    def _reject(self, row: Rejected) -> None:
        key = (row.source, row.position)
        self._positions[key] += 1
        again = self._positions[key]  # e.g. a key that stands twice in a JSON file
        clean = {
            "source": row.source,
            "position": row.position if again == 1 else f"{row.position} ({again})",
            "item_id": None if row.item_id is None else f"{self._name}:{row.item_id}",
            "reason": row.reason,
        }
        self._rejected.append({k: v and v.encode("utf-8", "backslashreplace").decode() for k, v in clean.items()})
        self._summary.reasons[kind(row.reason)] += 1

    def _flush(self) -> None:
        if self._waiting:
            self._items.append(pa.RecordBatch.from_pylist(self._waiting, schema=ITEMS.schema))
            self._waiting.clear()

    def finish(self) -> Imported:
        """The tables, and the account checked.

        Raises:
            DatasetError: no item is left.
        """
        self._flush()
        summary = self._summary
        summary.checksum, summary.images = self._hash.hexdigest(), len(self._used)
        if not summary.items:
            raise DatasetError("\n".join([f"data set {self._name} has no usable row", *summary.lines(self._name)]))
        if summary.read != summary.items + len(self._rejected) + summary.undrawn:
            raise AssertionError(f"rows lost: {summary}")
        return Imported(
            items=pa.Table.from_batches(self._items, schema=ITEMS.schema),
            images=self._spill.table(self._used),
            rejected=pa.Table.from_pylist(self._rejected, schema=REJECTED.schema),
            summary=summary,
        )
