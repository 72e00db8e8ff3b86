"""LLaVA-NeXT: an overview and tiles of the image, with a newline token after each row of tokens.

Source: LLaVA-NeXT blog post of January 2024.
"""

from typing import ClassVar

from vlmdx.models import adapter


class Adapter(adapter.Adapter):
    """LLaVA-NeXT family."""

    has_grid: ClassVar[bool] = False
