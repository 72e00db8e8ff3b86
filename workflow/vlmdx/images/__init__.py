"""The one place where image files become pixels, and pixels become lossless PNG again."""

from vlmdx.images.decode import MAX_ASPECT, Decoded, ImageError, decode, decode_file
from vlmdx.images.pixels import from_png, pixel_sha256, png_bytes, resize_longest

__all__ = [
    "MAX_ASPECT",
    "Decoded",
    "ImageError",
    "decode",
    "decode_file",
    "from_png",
    "pixel_sha256",
    "png_bytes",
    "resize_longest",
]
