"""The images that questions are asked about: one per row, kept compressed until they are looked at."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from PIL import Image

from vlmdx.images import from_png
from vlmdx.schema import read_table
from vlmdx.schema.tables import IMAGES


@dataclass(frozen=True)
class Picture:
    """One image.

    Attributes:
        image_id: as in images.parquet.
        sha256: of its RGB pixels.
        png: as stored.
    """

    image_id: str
    sha256: str
    png: bytes = field(repr=False)

    @property
    def image(self) -> Image.Image:
        """Decoded anew at each access, RGB."""
        return Image.fromarray(from_png(self.png))


def read_pictures(path: str | os.PathLike, image_ids: Sequence[str] | None = None) -> list[Picture]:
    """Images of ``images.parquet``, sorted by id.

    Args:
        path: the artifact.
        image_ids: only these; None = all.

    Raises:
        ValueError: an id is not in the file, or a row has no image.
    """
    filters = None if image_ids is None else [("image_id", "in", list(image_ids))]
    rows = read_table(path, IMAGES, columns=["image_id", "image", "sha256"], filters=filters).to_pylist()
    missing = sorted(set(image_ids or ()) - {row["image_id"] for row in rows})
    if missing:
        raise ValueError(f"{path}: {len(missing)} images are not there, first: {missing[:3]}")
    found = [Picture(row["image_id"], row["sha256"], row["image"]["bytes"]) for row in rows]
    return check_pictures(sorted(found, key=lambda picture: picture.image_id))


def check_pictures(pictures: Sequence[Picture]) -> list[Picture]:
    """``pictures``, if each has exactly one image and an id of its own.

    The rule for a row without an image: refused before a model is loaded. A trainer drops such a row's pixels in
    silence, and then trains on text alone (unslothai/unsloth#11031).

    Raises:
        ValueError: none at all, an image that is not there (``None``, ``[]``, no bytes), or a repeated id.
    """
    if not pictures:
        raise ValueError("no image to ask about; give the run a data set with images")
    empty = [picture.image_id for picture in pictures if not picture.png or not isinstance(picture.png, bytes)]
    if empty:
        raise ValueError(
            f"{len(empty)} of {len(pictures)} rows have no image (first: {empty[:3]}); a question needs exactly one: "
            "remove these rows, or import the data set again"
        )
    ids = [picture.image_id for picture in pictures]
    if len(set(ids)) < len(ids):
        raise ValueError(f"image_id {next(i for i in ids if ids.count(i) > 1)!r} stands twice in the list of images")
    return list(pictures)
