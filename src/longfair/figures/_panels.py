"""A square panel for each title, up to three to a row, and one scale for the colours of all.

Axes are shared: all panels show the same square, and a name stands once for each row and column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as Drawing

from longfair.figures.style import canvas, head, on_a_phone


class Panels(NamedTuple):
    """A drawing with its panels."""

    drawing: Drawing
    all: list[Axes]
    """All panels."""
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
    columns = side_by_side(len(parts))
    rows = -(-len(parts) // columns)
    side = 2.4 if columns == 3 else 2.8
    size = (0.7 + (side + 0.1) * columns, 0.5 + side * rows)
    drawing, panels = canvas(
        *size, columns=columns, rows=rows, count=len(parts), sharex=True, sharey=True
    )
    filled = [(panel, str(title), own) for panel, (title, own) in zip(panels, parts, strict=True)]
    for place, (panel, title, _) in enumerate(filled):
        head(panel, title)
        if on_a_phone() or place + columns >= len(parts):  # no panel below
            panel.set_xlabel(axes.format(0))
            panel.tick_params(labelbottom=True)
        if on_a_phone() or place % columns == 0:
            panel.set_ylabel(axes.format(1))
    return Panels(drawing, panels, filled)


def side_by_side(count: int, most: int = 3) -> int:
    """How many panels stand in a row: as many rows as with the most, and none nearly empty."""
    rows = -(-count // most)
    return -(-count // rows)


def scale(panels: Panels, colours: ScalarMappable, name: str, written: str) -> None:
    """Add one scale of colours for all panels: beside them, or below them on a phone.

    Parameters
    ----------
    panels
        Whose colours they are.
    colours
        What is drawn with them.
    name
        What the colours stand for.
    written
        How its numbers are written, as in ``"%.2g"``.
    """
    place: dict[str, Any] = {"shrink": 0.8}
    if on_a_phone():
        place = {"location": "bottom", "aspect": 25, "pad": 0.01}
    bar = panels.drawing.colorbar(colours, ax=panels.all, label=name, format=written, **place)
    if on_a_phone():
        bar.ax.tick_params(rotation=90)
