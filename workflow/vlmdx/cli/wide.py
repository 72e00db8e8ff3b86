"""Tables that stay readable in a log file."""

import sys

from rich.console import Console


def wide_console() -> Console:
    """The terminal at its own width; a file or pipe, which has none, at 160 columns."""
    return Console(width=None if sys.stdout.isatty() else 160)
