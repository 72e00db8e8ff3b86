"""VSR (arXiv 2205.00363): statements "The <subject> is <relation> the <object>." as yes/no questions.

With COCO's instances file the boxes of all things named like the subject and the object come along, and the statement
becomes a GQA program (select subject, verify rel object), so that interventions can tell the two apart.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import DirectoryPath, FilePath

from vlmdx.datasets.coco import Photo, instances
from vlmdx.datasets.records import Box, DatasetError, Item, Row, RowError, brief, check_text
from vlmdx.datasets.source import Folder, guarded, json_lines, need

LABELS = {"1": 0, "true": 0, "0": 1, "false": 1}  # label as text, lower case -> index into (yes, no)


def read(
    *,
    file: FilePath,
    images: DirectoryPath,
    instances_file: FilePath | None = None,
    categories: FilePath | None = None,
) -> Iterator[Row]:
    """Rows of one split.

    Args:
        file: the JSON lines as published.
        images: folder of the COCO photos, by the row's ``image``.
        instances_file: COCO instances of these photos; None leaves the items without boxes and program.
        categories: ``rel_meta_category_dict.txt``; the category of an item is then that of its relation (the first
            one that lists it), else the relation itself.

    Raises:
        DatasetError: a file is not what its setting says.
    """
    files = Folder(images)
    photos = instances(instances_file)[0] if instances_file else None
    table = relation_categories(categories) if categories else None
    for number, row in json_lines(file):
        yield guarded(
            _item, row, number, file.name, files, photos, table,
            source=file.name, position=str(number), item_id=str(number),
        )  # fmt: skip


def relation_categories(path: Path) -> dict[str, str]:
    """Relation to category, from lines ``Category: relation, relation, ...``."""
    table: dict[str, str] = {}
    for line in path.read_text("utf-8-sig").splitlines():
        category, colon, relations = line.partition(":")
        if line.strip() and not colon:
            raise DatasetError(f"{path}: {brief(line)} is not of the form 'Category: relation, relation'")
        for relation in filter(None, (r.strip() for r in relations.split(","))):
            table.setdefault(relation, category.strip())
    return table


def parse_caption(caption: str, relation: str) -> tuple[str, str]:
    """Subject and object of ``"The cat is under the car."``; :class:`RowError` if the relation does not divide it."""
    found = re.fullmatch(rf"The (.+?) (?:is |are )?{re.escape(relation)} (?:the )?(.+?)\.?", caption.strip())
    if not found:
        raise RowError(
            f"caption {brief(caption)} does not read 'The … [is] {{relation}} [the] …' with {brief(relation)}"
        )
    return found.group(1), found.group(2)


def _item(
    row: dict[str, Any] | RowError,
    number: int,
    source: str,
    files: Folder,
    photos: dict[int, Photo] | None,
    table: dict[str, str] | None,
) -> Item:
    if isinstance(row, RowError):
        raise row
    image, caption, label, relation = need(row, "image", "caption", "label", "relation")
    check_text(caption)
    check_text(relation)
    if (key := str(label).lower()) not in LABELS:
        raise RowError(f"label {brief(label)} is neither 0, 1, true nor false")
    if table is not None and relation not in table:
        raise RowError(f"relation {brief(relation)} has no category in the categories file")
    subject, thing = parse_caption(caption, relation)
    image_id, path = files.file(image)
    program = objects = size = None
    if photos is not None:
        photo = _photo(photos, image)
        parts = [_boxes(photo, name, image) for name in (subject, thing)]
        ids = [",".join(box.object_id for box in boxes) for boxes in parts]
        program = json.dumps(
            [
                {"operation": "select", "dependencies": [], "argument": f"{subject} ({ids[0]})"},
                {"operation": "verify rel", "dependencies": [0], "argument": f"{thing},{relation},o ({ids[1]})"},
            ]
        )
        objects = tuple(dict.fromkeys(box for boxes in parts for box in boxes))
        size = photo.annotated_size()
    return Item(
        source=source,
        position=str(number),
        item_id=str(number),
        image_id=image_id,
        image=path,
        question=f"Is this statement about the image true? {caption.strip()}",
        options=("yes", "no"),
        answer=LABELS[key],
        category=table[relation] if table is not None else relation,
        operation="verify",
        program=program,
        objects=objects,
        annotated_size=size,
    )


def _photo(photos: dict[int, Photo], image: str) -> Photo:
    """COCO names a photo by its id: 000000000650.jpg, COCO_train2014_000000000650.jpg."""
    digits = re.search(r"([0-9]{1,15})\.[a-z]+$", image.lower())
    if not digits or int(digits.group(1)) not in photos:
        raise RowError(f"image {brief(image)} is not in the instances file")
    return photos[int(digits.group(1))]


def _boxes(photo: Photo, name: str, image: str) -> list[Box]:
    if name not in photo.boxes:
        raise RowError(f"no {brief(name)} is annotated in image {brief(image)}")
    return photo.boxes[name]
