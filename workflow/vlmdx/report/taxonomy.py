"""The taxonomy of a run as a sunburst, and as a page in which one can walk from meta-skills down to primitives."""

import html
import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from vlmdx.report.style import INK, MUTED, WIDTH, gap

LINE = 4.5  # degrees of a wedge that a line of its name takes
LETTERS = 17  # of a line, in the depth of a ring
COLORS = "cividis"  # its lightness falls evenly, for any kind of colour vision

Node = Mapping[str, Any]


def draw_sunburst(report: Node) -> Figure:
    """Meta-skills inside, their skills outside: angle is the number of questions, colour the share answered wrongly.

    A question that needs several skills counts in each of them.

    Args:
        report: ``taxonomy.json``.
    """
    figure = Figure(figsize=(WIDTH, WIDTH * 0.78), layout="constrained")
    axis = figure.subplots()
    groups = [(meta, [s for s in meta["skills"] if s["valid"]]) for meta in report["meta_skills"]]
    groups = [(meta, skills) for meta, skills in groups if skills]
    if not groups:
        axis.set_axis_off()
        gap(axis, "no skill was asked for on held-out images")
        return figure
    highest = max(skill["failure_rate"] for _, skills in groups for skill in skills)
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, max(highest, 0.01)), COLORS)
    rings = [
        [(meta, sum(skill["valid"] for skill in skills)) for meta, skills in groups],
        [(skill, skill["valid"]) for _, skills in groups for skill in skills],
    ]
    for (inner, outer), ring in zip(((0.34, 0.66), (0.67, 1.0)), rings, strict=True):
        colors: Any = [scale.to_rgba(node["failure_rate"]) for node, _ in ring]
        wedges = axis.pie(
            [size for _, size in ring],
            radius=outer,
            colors=colors,
            startangle=90,
            counterclock=False,
            wedgeprops={"width": outer - inner, "edgecolor": "white", "linewidth": 1.0},
        )[0]
        for wedge, (node, _), color in zip(wedges, ring, colors, strict=True):
            if wedge.theta2 - wedge.theta1 >= LINE:
                _label(axis, node["name"], (inner + outer) / 2, wedge, color, len(ring) > 1)
    rate = f"{100 * report['failure_rate']:.0f} %\nfailed"
    axis.text(0, 0, f"{report['run']}\n{rate}\n{report['questions']['distinct']} questions", ha="center", va="center",
              fontsize=8, color=INK)  # fmt: skip
    axis.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    bar = figure.colorbar(scale, ax=axis, shrink=0.55, pad=0.02, format=lambda value, _: f"{100 * value:.0f} %")
    bar.set_label("valid held-out questions answered wrongly", color=INK)
    bar.outline.set_visible(False)
    return figure


def _label(axis: Any, name: str, radius: float, wedge: Any, color: Any, turned: bool) -> None:
    """The name inside a wedge, along its radius, always readable from left to right."""
    middle = (wedge.theta1 + wedge.theta2) / 2
    angle = np.deg2rad(middle)
    rotation = middle % 360
    rotation = rotation - 180 if 90 < rotation < 270 else rotation
    lines = max(1, min(4, int((wedge.theta2 - wedge.theta1) / LINE)))
    text = textwrap.wrap(name, LETTERS)
    if len(text) > lines:
        text = [*text[: lines - 1], textwrap.shorten(" ".join(text[lines - 1 :]), LETTERS, placeholder="…") or "…"]
    light = np.dot(color[:3], (0.299, 0.587, 0.114)) > 0.55
    axis.text(
        radius * np.cos(angle),
        radius * np.sin(angle),
        "\n".join(text),
        ha="center",
        va="center",
        rotation=rotation if turned else 0,
        rotation_mode="anchor",
        fontsize=6,
        color=INK if light else "white",
        parse_math=False,
    )


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Taxonomy of {run}</title><style>
body {{ font: 14px/1.5 system-ui, sans-serif; color: {ink}; max-width: 60em; margin: 2em auto; padding: 0 1em }}
details {{ margin: .1em 0 .1em 1.2em }} li {{ margin-left: 2em; list-style: none }} summary {{ cursor: pointer }}
.bar {{ display: inline-block; width: 6em; height: .7em; background: #e3e3e3; margin: 0 .6em; border-radius: 2px }}
.bar i {{ display: block; height: 100%; background: #b3476b; border-radius: 2px }}
small {{ color: {muted} }} td, th {{ padding: .1em .8em .1em 0; text-align: left }}
</style></head><body><h1>Taxonomy of {run}</h1>
<p>{questions} distinct valid held-out questions, {rate:.1f} % answered wrongly. A question counts in all its skills.
{stability}</p>
<h2>Failure modes</h2>{modes}
<h2>Meta-skills, skills, primitives</h2>{tree}</body></html>
"""


def page(report: Node) -> str:
    """``taxonomy.json`` as one HTML file that needs nothing beside it."""
    found = report["stability"]["adjusted_rand_mean"]
    least = report["stability"]["adjusted_rand_min"]
    stability = "" if found is None else f"Stability of the skills: adjusted Rand {found:.2f} (lowest {least:.2f})."
    modes = "".join(
        f"<tr><td>{html.escape(m['mode'])}<td>{m['failed']:.0f} of {m['questions']}<td>{100 * m['rate']:.0f} %"
        f"<td>{m['lift']:.1f} times base<td>q = {m['q']:.2g}</tr>"
        for m in report["failure_modes"]
    )
    return PAGE.format(
        run=html.escape(report["run"]),
        ink=INK,
        muted=MUTED,
        questions=report["questions"]["distinct"],
        rate=100 * report["failure_rate"],
        stability=stability,
        modes=f"<table>{modes}</table>" if modes else "<p>No skill fails significantly above the base rate.</p>",
        tree="".join(_branch(meta, "skills", open_=True) for meta in report["meta_skills"]),
    )


def _branch(node: Node, below: str, open_: bool = False) -> str:
    inner = "".join(
        _branch(child, "primitives") if "primitives" in child else f"<li>{_line(child)}</li>" for child in node[below]
    )
    first = node.get("first_exploited") or {}
    steps = "; ".join(f"{html.escape(m)}: {', '.join(map(str, s))}" for m, s in sorted(first.items()))
    told = f"<li><small>first exploited in training at step {steps}</small></li>" if steps else ""
    return f"<details{' open' if open_ else ''}><summary>{_line(node)}</summary>{told}{inner}</details>"


def _line(node: Node) -> str:
    rate = node["failure_rate"]
    bar = "" if rate is None else f"<span class=bar><i style='width:{100 * rate:.0f}%'></i></span>{100 * rate:.0f} %"
    return f"{html.escape(node['name'])} {bar} <small>{node['failed']:.0f} of {node['valid']} failed</small>"
