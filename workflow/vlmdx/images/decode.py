"""Decode an image file into upright RGB: one written rule per case, the same for every data set and every model.

====================================  ================================================================================
EXIF orientation 2 to 8               applied once, here; nothing written later carries the tag
orientation 0, 9, unreadable EXIF     pixels as they are
alpha, transparent colour             composited over ``BACKGROUND`` (white, as a page or a browser shows the picture)
16-bit grey                           ``value >> 8``
32-bit integer or float pixels        refused: such a file does not say which value is white
1-bit, grey, palette, CMYK, LAB ...   Pillow's conversion; embedded colour profiles are not applied
animation, several pages              the first frame
more than ``max_pixels``              refused from the header, before any pixel is decoded
one side over 200 times the other     refused: Qwen2.5-VL's processor takes no such image, and fog would need gigabytes
cut short, empty, not an image        refused; nothing is ever filled with grey
suffix that lies about the format     of no importance, the content decides
====================================  ================================================================================
"""

import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageFile, UnidentifiedImageError

BACKGROUND = (255, 255, 255)
MAX_ASPECT = 200  # the limit of Qwen2.5-VL's processor

# Pixel formats only (JPEG includes phones' MPO). Pillow would hand PostScript to an external program, which no data
# set may trigger.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000", "AVIF")

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class ImageError(ValueError):
    """An image that is refused; the message is the reason, in words for the user."""


@dataclass(frozen=True)
class Decoded:
    """``rgb``: uint8, height x width x 3, upright; ``mode``: Pillow's mode of the file; ``orientation``: 1 to 8."""

    rgb: np.ndarray
    mode: str
    orientation: int


def decode(data: bytes, *, max_pixels: int) -> Decoded:
    """Decode the content of an image file by the rules above.

    Args:
        data: the whole file.
        max_pixels: largest width x height that is accepted.

    Raises:
        ImageError: with the reason, if the file is refused.
    """
    if not data:
        raise ImageError("the file is empty (0 bytes)")
    _check_bytes(len(data), max_pixels)
    # Some libraries switch this on for the whole process; a picture half filled with grey would then pass as whole.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on odd metadata, and its bomb warning: max_pixels decides
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _check_size(image.size, max_pixels)
                mode, tagged = image.mode, _orientation(image)
                image.load()
                # Pillow turns TIFF files itself while loading: only what is still tagged is left to do.
                left = _orientation(image)
                upright = image.transpose(_UPRIGHT[left]) if left in _UPRIGHT else image
                return Decoded(_rgb(upright, image.format, image.info), mode, tagged)
        except ImageError:
            raise
        except UnidentifiedImageError as error:
            raise ImageError(f"not an image that can be read ({_looks_like(data)})") from error
        except Image.DecompressionBombError as error:
            size = "".join(re.findall(r"\((\d+ pixels)\)", str(error))) or "too many pixels"
            raise ImageError(f"{size} are more than max_pixels = {max_pixels}; shrink the file") from error
        except Exception as error:  # decoders fail in many ways on hostile bytes, and each means the same to the user
            raise ImageError(f"broken image file: {error or type(error).__name__}; get the file again") from error


def decode_file(path: Path, *, max_pixels: int) -> Decoded:
    """Like :func:`decode`, for a file.

    Raises:
        ImageError: also if the path is missing, no regular file, unreadable, or too large to be an accepted image.
    """
    try:
        if not path.exists():
            raise ImageError("the file does not exist")
        if not path.is_file():
            raise ImageError("not a regular file")
        _check_bytes(path.stat().st_size, max_pixels)
        data = path.read_bytes()
    except OSError as error:
        raise ImageError(f"the file cannot be read: {error.strerror}") from error
    return decode(data, max_pixels=max_pixels)


def _check_bytes(size: int, max_pixels: int) -> None:
    # 16 bytes a pixel (RGBA, 32 bit each) and a metadata allowance: above that it cannot be an accepted image.
    if size > 16 * max_pixels + 2**26:
        raise ImageError(f"{size} bytes are more than an image of max_pixels = {max_pixels} can need")


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise ImageError(f"the image has no pixels ({width} x {height})")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise ImageError(f"{width} x {height}: one side is more than {MAX_ASPECT} times the other; crop the file")
    if width * height > max_pixels:
        raise ImageError(
            f"{width} x {height} = {width * height} pixels are more than max_pixels = {max_pixels}; shrink the file"
        )


def _orientation(image: Image.Image) -> int:
    """EXIF orientation 1 to 8; 1 where the tag is absent, out of range or unreadable."""
    try:
        value = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # a garbage EXIF block says nothing about the pixels
        return 1
    return int(value) if isinstance(value, int) and value in _UPRIGHT else 1


def _rgb(image: Image.Image, format_: str | None, info: dict) -> np.ndarray:
    """Pixels of one loaded frame as uint8 RGB. ``info`` is that of the file: a turned copy may have lost it."""
    if image.mode.startswith("I;16"):
        return _grey16(np.asarray(image), info.get("transparency"))
    if image.mode == "I" and format_ in ("PNG", "PPM"):  # for these two, mode I means 16 bits
        return _grey16(np.asarray(image), info.get("transparency"))
    if image.mode in ("I", "F"):
        kind = "integer" if image.mode == "I" else "float"
        raise ImageError(f"32-bit {kind} pixels do not say which value is white; save the image with 8 or 16 bits")
    if image.mode in ("RGBa", "La"):  # premultiplied
        image = image.convert("RGBA" if image.mode == "RGBa" else "LA")
    if image.has_transparency_data:
        below = Image.new("RGBA", image.size, BACKGROUND)
        image = Image.alpha_composite(below, image.convert("RGBA"))
    return np.array(image.convert("RGB"))


def _grey16(values: np.ndarray, transparent: int | None) -> np.ndarray:
    grey = (np.asarray(values, dtype=np.int64) >> 8).astype(np.uint8)
    rgb = np.repeat(grey[:, :, None], 3, axis=2)
    if transparent is not None:
        rgb[np.asarray(values) == transparent] = BACKGROUND
    return rgb


def _looks_like(data: bytes) -> str:
    head = data[:512].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml", b"<svg")):
        return "it is a web page or SVG: the download failed, or the picture has to be saved as PNG"
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypheim", b"ftyphevc"):
        return "it is HEIC: save it as JPEG or PNG"
    return f"accepted are {', '.join(FORMATS)}"
