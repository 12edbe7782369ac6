"""A number over a square of pairs: a panel for each policy, all on one scale."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from longfair.errors import UsageError
from longfair.figures._frames import require
from longfair.figures._panels import scale, square_panels
from longfair.figures.display import Figure, drawing
from longfair.figures.style import VERMILION, from_to, number, styled

COLUMNS = ("panel", "right", "height", "value")


@drawing
def heat_maps(cells: pd.DataFrame, *, value: str, axes: str, smallest: str = "") -> Figure:
    """Draw one map per panel, all with the same colours.

    Parameters
    ----------
    cells
        Columns panel (its title), right and height (a pair of numbers), value. The pairs of a panel
        are a rectangular grid.
    value
        What the value is, in lower case.
    axes
        What the axes are, with ``{}`` for 0 and 1.
    smallest
        Where given, what the smallest value of a panel is; it is marked.

    Returns
    -------
    Figure
        Its data are the cells.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty, or the pairs of a panel are not a grid.
    """
    cells = require(cells, list(COLUMNS), "cells")
    ends = float(cells["value"].min()), float(cells["value"].max())
    parts = [f"Heat maps of {value}, {from_to(*ends)}."]
    with styled():
        panels = square_panels(cells, axes)
        for panel, title, own in panels.filled:
            filled = _map(panel, own, ends)
            parts.append(f"{title}: {_described(panel, own, smallest)}.")
        scale(panels, filled, value, "%.3g")
    return Figure(panels.drawing, " ".join(parts), cells)


def _map(panel: Axes, own: pd.DataFrame, ends: tuple[float, float]) -> QuadMesh:
    wide = own.pivot_table(index="height", columns="right", values="value")
    if len(own) != wide.size or wide.isna().any(axis=None):
        raise UsageError(f"{len(own)} pairs are not a grid; give every pair once")
    across, down = wide.columns.to_numpy(float), wide.index.to_numpy(float)
    filled = panel.pcolormesh(
        across, down, wide.to_numpy(float), cmap="Blues", vmin=ends[0], vmax=ends[1]
    )
    panel.set_aspect("equal")
    panel.locator_params(nbins=3)
    panel.grid(visible=False)
    return filled


def _described(panel: Axes, own: pd.DataFrame, smallest: str) -> str:
    """Mark the smallest value where it has a name, and put the panel into words."""
    lowest = own.sort_values("value", kind="stable").iloc[0]
    mean = f"mean {number(float(own['value'].mean()))}"
    if not smallest:
        return mean
    panel.plot(lowest["right"], lowest["height"], "*", color=VERMILION, ms=12, clip_on=False)
    place = f"({number(float(lowest['right']))}, {number(float(lowest['height']))})"
    return f"{mean}, {smallest} is {number(float(lowest['value']))} at {place}"
