"""COCO instances (arXiv 1405.0312): boxes by category, and presence questions made from them.

As a data set, each image gives two yes/no questions, "Is there a dog in the image?": one about a category that is
annotated in it, one about a category that is not. The absent one is drawn in proportion to how many images show it
("popular" sampling of POPE, arXiv 2305.10355): it is plausible. Categories are exhaustive in COCO, so "no" is sound.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import DirectoryPath, FilePath

from vlmdx.datasets.records import Box, DatasetError, Item, Row, RowError, brief, make_box
from vlmdx.datasets.source import Folder, guarded


@dataclass
class Photo:
    """One image of an instances file; ``boxes`` by category name, without crowd regions."""

    file_name: Any
    width: Any
    height: Any
    boxes: dict[str, list[Box]] = field(default_factory=dict)
    crowds: set[str] = field(default_factory=set)

    def annotated_size(self) -> tuple[int, int]:
        """Width and height, or :class:`RowError`."""
        if not (type(self.width) is int and type(self.height) is int and self.width > 0 and self.height > 0):
            raise RowError(f"image {brief(self.file_name)} has no width and height in the instances file")
        return self.width, self.height


def instances(path: Path) -> tuple[dict[int, Photo], list[str]]:
    """Images by COCO id, and the category names.

    Raises:
        DatasetError: the file is no COCO instances file.
    """
    try:
        content = json.loads(path.read_text("utf-8-sig"))
        names = {entry["id"]: entry["name"] for entry in content["categories"]}
        if wrong := [name for name in names.values() if not (isinstance(name, str) and name.strip())]:
            raise TypeError(f"category name {brief(wrong[0])} is no text")
        photos = {e["id"]: Photo(e["file_name"], e.get("width"), e.get("height")) for e in content["images"]}
        for entry in content["annotations"]:
            photo, name = photos[entry["image_id"]], names[entry["category_id"]]
            if entry.get("iscrowd"):  # one box around a crowd is no object
                photo.crowds.add(name)
            else:
                photo.boxes.setdefault(name, []).append(make_box(str(entry["id"]), name, entry["bbox"]))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path}: not a COCO instances file ({type(error).__name__}: {error})") from error
    return photos, sorted(names.values())


def read(*, instances_file: FilePath, images: DirectoryPath, seed: int) -> Iterator[Row]:
    """Two presence questions per annotated image.

    Args:
        instances_file: ``instances_*.json``.
        images: folder of the photos, by ``file_name``.
        seed: of the categories asked about.

    Raises:
        DatasetError: the file is no COCO instances file.
    """
    photos, names = instances(instances_file)
    files = Folder(images)
    shown = Counter(name for photo in photos.values() for name in {*photo.boxes, *photo.crowds})
    for number, photo in photos.items():
        for present in (True, False):
            key = f"{number}-{'present' if present else 'absent'}"
            yield guarded(
                _item, key, photo, present, names, shown, files, seed, instances_file.name,
                source=instances_file.name, position=key, item_id=key,
            )  # fmt: skip


def _item(
    key: str, photo: Photo, present: bool, names: list[str], shown: Counter[str], files: Folder, seed: int, source: str
) -> Item:
    rng = np.random.default_rng(int(hashlib.sha256(f"{seed}:{key}".encode()).hexdigest()[:16], 16))
    if present:
        choices = sorted(photo.boxes)
        weights = np.ones(len(choices))
    else:
        choices = [name for name in names if name not in photo.boxes and name not in photo.crowds and shown[name]]
        weights = np.array([shown[name] for name in choices], dtype=float)
    if not choices:
        raise RowError(f"no category is {'annotated in' if present else 'absent from'} image {brief(photo.file_name)}")
    name = choices[int(rng.choice(len(choices), p=weights / weights.sum()))]
    image_id, path = files.file(photo.file_name)
    boxes = tuple(photo.boxes[name]) if present else ()
    ids = ",".join(box.object_id for box in boxes) or "-"
    program = [
        {"operation": "select", "dependencies": [], "argument": f"{name} ({ids})"},
        {"operation": "exist", "dependencies": [0], "argument": "?"},
    ]
    return Item(
        source=source,
        position=key,
        item_id=key,
        image_id=image_id,
        image=path,
        question=f"Is there {'an' if name[0] in 'aeiou' else 'a'} {name} in the image?",
        options=("yes", "no"),
        answer=0 if present else 1,
        category=name,
        operation="exist",
        program=json.dumps(program),
        objects=boxes,
        annotated_size=photo.annotated_size(),
    )
