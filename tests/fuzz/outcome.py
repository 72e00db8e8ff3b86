"""What became of an input."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """``kind``: accepted or refused; ``rows`` read, and how many of them became items."""

    kind: str
    rows: int = 0
    items: int = 0
