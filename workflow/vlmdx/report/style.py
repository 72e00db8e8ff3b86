"""One look for all figures, and files that are the same bytes for the same data."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlmdx.schema import atomic

INK, MUTED, GRID = "#222222", "#6b6b6b", "#e3e3e3"
WIDTH = 7.2  # inches, a two-column page's text width
BETTER = "higher is better aligned"  # direction of RAS, arXiv 2511.19032
STYLE: Any = {
    **sns.axes_style("ticks"),
    "font.family": "DejaVu Sans",  # ships with matplotlib, so the same figure comes out everywhere
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "vlmdx",  # element ids of the SVG come from this instead of a random number
}
MARKERS = "osD^vP*Xph<>d"
# The colour-blind safe palette (Okabe-Ito order of seaborn) without its grey, pink and yellow, which vanish on white.
PALETTE = [sns.color_palette("colorblind").as_hex()[i] for i in (0, 1, 2, 3, 4, 5, 9)]


def render(
    svg: str | os.PathLike, png: str | os.PathLike, draw: Callable[..., Figure], *args: Any, **kwargs: Any
) -> None:
    """Draw in the house style and write both files, whole or not at all.

    Args:
        svg: path of the vector file.
        png: path of the raster file, 200 dpi.
        draw: returns the figure when called with the remaining arguments.
    """
    with mpl.rc_context(STYLE):
        figure = draw(*args, **kwargs)
        for path, metadata in ((svg, {"Date": None, "Creator": None}), (png, {"Software": None})):
            with atomic(path) as temporary:
                figure.savefig(temporary, bbox_inches="tight", metadata=metadata)


def marks(models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each model: the pair is unique for up to 91 models, in every figure the same."""
    return {
        model: {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[index % len(MARKERS)]}
        for index, model in enumerate(models)
    }


def panels(count: int, columns: int, height: float, **kwargs: Any) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` panels that share their axes; places left over stay blank.

    Args:
        count: panels wanted.
        columns: most panels side by side; fewer panels make a narrower figure.
        height: of one row of panels, in inches; what stands around them (legend, common labels) comes on top.
        **kwargs: for ``Figure.subplots``.
    """
    across = min(columns, count)
    rows = -(-count // across)
    width = WIDTH * min(1.0, 0.3 + 0.7 * across / columns)
    figure = Figure(figsize=(width, height * rows + 0.6), layout="constrained")
    axes = list(figure.subplots(rows, across, squeeze=False, **{"sharex": True, "sharey": True, **kwargs}).flat)
    for axis in axes[count:]:
        axis.set_axis_off()
    for axis in axes[max(0, count - across) : count]:  # the lowest panel of each column keeps its tick labels
        axis.xaxis.set_tick_params(labelbottom=True)
    return figure, axes[:count]


def gap(axis: Axes, text: str = "no data") -> None:
    """Say in the middle of a panel that there is nothing to draw; an empty panel would look like a zero."""
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=MUTED, style="italic")


def zero_line(axis: Axes, vertical: bool = False) -> None:
    """RAS = 0: the corruption changed nothing."""
    line = axis.axvline if vertical else axis.axhline
    line(0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


def plain(name: str) -> str:
    """A corruption's or family's name as words."""
    return name.replace("_", " ")
