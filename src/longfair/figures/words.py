"""What a figure's axes show, in the units of their ticks.

Who cannot see a figure has only its alternative text. If that says "training steps (millions), from
0 to 5,000,000", nothing in the page tells that it is wrong. So what the axes show is written down,
and tests compare it with the numbers in the words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure as Drawing


class Shown(NamedTuple):
    """What an axis shows, in the units of its ticks."""

    direction: str
    """``"x"`` or ``"y"``."""
    label: str
    low: float
    high: float


def shown_axes(drawing: Drawing) -> list[Shown]:
    """Return what every axis of a drawing shows that has a name and numbers on its ticks.

    The drawing must have been drawn once, as that of every `Figure` has.
    """
    found = []
    for axes in drawing.axes:
        if axes.axison:
            found += [one for axis in (axes.xaxis, axes.yaxis) if (one := _shown(drawing, axis))]
    return found


def _shown(drawing: Drawing, axis: Axis) -> Shown | None:
    across = isinstance(axis, XAxis)
    label = axis.get_label_text() or (
        drawing.get_supxlabel() if across else drawing.get_supylabel()
    )
    unit = _unit(axis)
    if not label or unit is None:
        return None
    low, high = sorted(float(end) / unit for end in axis.get_view_interval())
    return Shown("x" if across else "y", " ".join(label.split()), low, high)


def _unit(axis: Axis) -> float | None:
    """How much a tick that reads 1 stands for; None where ticks are no numbers."""
    places = axis.get_majorticklocs()
    texts = [tick.get_text().replace("\N{MINUS SIGN}", "-") for tick in axis.get_majorticklabels()]
    units = [
        place / float(text)
        for place, text in zip(places, texts, strict=False)
        if re.fullmatch(r"-?\d+(\.\d+)?", text) and float(text) != 0
    ]
    return float(np.median(units)) if units else None
