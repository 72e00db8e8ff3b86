"""LLaVA-NeXT and LLaVA-OneVision: an overview and tiles of the image, with a newline token after each row of tokens.

Sources: LLaVA-NeXT blog post of January 2024; arXiv 2408.03326 (section 3).
"""

from typing import ClassVar

from vlmdx.models import adapter


class Adapter(adapter.Adapter):
    """LLaVA-NeXT family."""

    has_grid: ClassVar[bool] = False
