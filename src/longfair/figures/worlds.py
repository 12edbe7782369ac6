"""Reward against unfairness in several worlds, a panel each: who learned, what is fixed, the best.

Axes are not shared, because every world has its own rewards and its own measure of unfairness.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    LineStyle,
    canvas,
    head,
    legend,
    number,
    styled,
)

KINDS: Mapping[str, LineStyle] = {
    "reward": LineStyle("learned for the reward alone", VERMILION, "s"),
    "others": LineStyle("learned with other fairness methods", ORANGE, "D"),
    "paper": LineStyle("the paper's method", BLUE, "o"),
    "fixed": LineStyle("a fixed rule, nothing learned", GREEN, "*"),
    "optimum": LineStyle("exact optimum", BLACK, "", "-"),
}
"""Who a point stands for."""


@drawing
def worlds(points: pd.DataFrame) -> Figure:
    """Draw unfairness across and reward up, so that the best corner is the upper left.

    Parameters
    ----------
    points
        Columns world (its title), across and up (labels of its axes), kind (one of `KINDS`), name,
        right and height (where the point is). Points of the kind `"optimum"` are joined.

    Returns
    -------
    Figure
        Its data are the points.

    Raises
    ------
    UsageError
        If a column is missing or the table is empty.
    """
    columns = ["world", "across", "up", "kind", "name", "right", "height"]
    points = require(points, columns, "points")
    titles = list(dict.fromkeys(points["world"]))
    rows = -(-len(titles) // 2)
    figure, panels = canvas(7.2, 0.8 + 2.7 * rows, columns=2, rows=rows, count=len(titles))
    parts = ["Scatter plots of reward against unfairness, best in the upper left corner."]
    drawn: dict[str, object] = {}
    with styled():
        for axes, (title, own) in zip(panels, points.groupby("world", sort=False), strict=False):
            for kind, some in own.groupby("kind", sort=False):
                drawn.setdefault(str(kind), _points(axes, some, KINDS[str(kind)]))
            head(axes, str(title))
            axes.set(xlabel=own["across"].iloc[0], ylabel=own["up"].iloc[0])
            axes.margins(0.12)
            parts.append(f"{title}: {_described(own)}.")
        legend(figure, [drawn[kind] for kind in KINDS if kind in drawn])
    return Figure(figure, " ".join(parts), points)


def _points(axes: Axes, points: pd.DataFrame, style: LineStyle) -> object:
    (artist,) = axes.plot(
        points["right"],
        points["height"],
        linestyle="none" if style.marker else style.line,
        marker=style.marker or None,
        markersize=12 if style.marker == "*" else 8,
        color=style.colour,
        label=style.label,
        zorder=4 if style.marker else 3,
    )
    return artist


def _described(points: pd.DataFrame) -> str:
    across, up = points["across"].iloc[0], points["up"].iloc[0]
    shown = points[points["kind"] != "optimum"]
    return "; ".join(
        f"{row['name']}, {across} {number(row['right'])}, {up} {number(row['height'])}"
        for _, row in shown.iterrows()
    )
