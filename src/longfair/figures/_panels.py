"""A square panel for each title, side by side, three to a row."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from longfair.figures.style import canvas


class Panels(NamedTuple):
    """A drawing with its panels."""

    drawing: Drawing
    all: list[Axes]
    """All panels, those without a title among them."""
    filled: list[tuple[Axes, str, pd.DataFrame]]
    """Panels with their titles and rows."""


def square_panels(frame: pd.DataFrame, axes: str) -> Panels:
    """Make a panel for every title in the column `panel`, with names on its axes.

    Parameters
    ----------
    frame
        The table; titles are taken in order of appearance.
    axes
        What the axes are, with ``{}`` for 0 and 1.
    """
    parts = list(frame.groupby("panel", sort=False))
    columns = min(3, len(parts))
    rows = -(-len(parts) // columns)
    drawing, panels = canvas(0.7 + 2.5 * columns, 0.5 + 2.4 * rows, columns=columns, rows=rows)
    filled = [(panel, str(title), own) for panel, (title, own) in zip(panels, parts, strict=False)]
    for panel, title, _ in filled:
        panel.set_title(title, loc="left", fontsize=11, weight="bold")
        panel.set(xlabel=axes.format(0), ylabel=axes.format(1))
    for unused in panels[len(parts) :]:
        unused.set_axis_off()
    return Panels(drawing, panels, filled)
