"""Reward against unfairness in several worlds, a panel each: who learned, what is fixed, the best.

Axes are not shared, because every world has its own rewards and its own measure of unfairness.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from longfair.figures._beside import write_beside
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
    on_a_phone,
    styled,
)

KINDS: Mapping[str, LineStyle] = {
    "reward": LineStyle("learned for the reward alone", VERMILION, "s"),
    "others": LineStyle("learned with other fairness methods", ORANGE, "D"),
    "paper": LineStyle("the paper's method", BLUE, "o"),
    "fixed": LineStyle("a fixed rule, by hand or search", GREEN, "*"),
    "optimum": LineStyle("exact optimum", BLACK, "", "-"),
}
"""Who a point stands for."""

COLUMNS = ("world", "across", "up", "kind", "name", "right", "height")

LETTERS = 14
"""Letters of a line of a fixed rule's name where three panels stand in a row."""

TWO_TO_A_ROW = 4
"""Worlds up to which two panels stand in a row; of more three do, so that all fit a screen."""


@drawing
def worlds(points: pd.DataFrame) -> Figure:
    """Draw unfairness across and reward up, so that the best corner is the upper left.

    Parameters
    ----------
    points
        Columns world (its title), across and up (labels of its axes), kind (one of `KINDS`), name,
        right and height (where the point is). Points of the kind `"optimum"` are joined; one alone
        is a cross. The names of fixed rules stand beside their points.

    Returns
    -------
    Figure
        Its data are the points.

    Raises
    ------
    UsageError
        If a column is missing or the table is empty.
    """
    points = require(points, COLUMNS, "points")
    titles = list(dict.fromkeys(points["world"]))
    columns = 2 if len(titles) <= TWO_TO_A_ROW else 3
    rows = -(-len(titles) // columns)
    height = 0.3 + (2.7 if columns == 2 else 2.4) * rows
    narrow = columns > 2 and not on_a_phone()
    figure, panels = canvas(7.2, height, columns=columns, rows=rows, count=len(titles))
    parts = ["Scatter plots of reward against unfairness, best in the upper left corner."]
    with styled():
        for axes, (title, own) in zip(panels, points.groupby("world", sort=False), strict=False):
            for kind, some in own.groupby("kind", sort=False):
                _points(axes, some, KINDS[str(kind)])
            head(axes, _in_lines(str(title), narrow, at=" ("))
            axes.set(xlabel=own["across"].iloc[0], ylabel=own["up"].iloc[0])
            axes.margins(0.12)
            parts.append(f"{title}: {_described(own)}.")
        shown = [style for kind, style in KINDS.items() if kind in set(points["kind"])]
        handles = [Line2D([], [], **_look(style), label=style.label) for style in shown]
        _explain(figure, handles, figure.axes[len(titles) :])
        figure.draw_without_rendering()  # from here on every panel keeps its place
        for axes, (_, own) in zip(panels, points.groupby("world", sort=False), strict=False):
            _write_names(axes, own, narrow)
    return Figure(figure, " ".join(parts), points)


def _points(axes: Axes, points: pd.DataFrame, style: LineStyle) -> None:
    look = _look(style)
    if not style.marker and len(points) > 1:
        look["marker"] = None
    axes.plot(points["right"], points["height"], zorder=4 if style.marker else 3, **look)


def _explain(figure: Drawing, handles: list[Line2D], empty: list[Axes]) -> None:
    """Put the legend into a place without a panel, or above all panels."""
    if not empty:
        legend(figure, handles)
        return
    # It begins where the names of the other panels' axes do, so that its words fit.
    place = {"bbox_to_anchor": (-0.25, 0.5), "bbox_transform": empty[0].transAxes}
    figure.legend(handles=handles, loc="center left", **place)


def _look(style: LineStyle) -> dict[str, Any]:
    """Keywords that draw a kind of points; a kind without a marker is a line, or a cross."""
    sizes = {"*": 12, "": 9}
    return {
        "color": style.colour,
        "linestyle": "none" if style.marker else style.line,
        "marker": style.marker or "P",
        "markersize": sizes.get(style.marker, 8),
    }


def _in_lines(words: str, narrow: bool, at: str = "") -> str:
    """Part words for a narrow panel: before some letters, or after so many that fit."""
    if not narrow:
        return words
    if at:
        return words.replace(at, "\n" + at.strip())
    # Two numbers with a stroke between them stay together.
    together = words.replace(" / ", "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}")
    return textwrap.fill(together, LETTERS, break_long_words=False)


def _write_names(axes: Axes, points: pd.DataFrame, narrow: bool) -> None:
    """Write the names of fixed rules where they cover no point."""
    places = axes.transData.transform(points[["right", "height"]].to_numpy(float))
    taken = [*np.hstack([places - 8, places + 8])]
    fixed = points[points["kind"] == "fixed"].sort_values("right")
    named = [
        (_in_lines(str(row["name"]), narrow), (float(row["right"]), float(row["height"])))
        for _, row in fixed.iterrows()
    ]
    write_beside(axes, named, taken, size=9.0)


def _described(points: pd.DataFrame) -> str:
    across, up = points["across"].iloc[0], points["up"].iloc[0]
    shown = points[points["kind"] != "optimum"]
    return "; ".join(
        f"{row['name']}, {across} {number(row['right'])}, {up} {number(row['height'])}"
        for _, row in shown.iterrows()
    )
