"""A square panel for each title, three to a row, and one scale for the colours of all."""

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
    columns = min(3, len(parts))
    rows = -(-len(parts) // columns)
    size = (0.7 + 2.5 * columns, 0.5 + 2.4 * rows)
    drawing, panels = canvas(*size, columns=columns, rows=rows, count=len(parts))
    filled = [(panel, str(title), own) for panel, (title, own) in zip(panels, parts, strict=True)]
    for panel, title, _ in filled:
        head(panel, title)
        panel.set(xlabel=axes.format(0), ylabel=axes.format(1))
    return Panels(drawing, panels, filled)


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
