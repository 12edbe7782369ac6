"""Hold what a figure's words say against the axes that are drawn.

Who cannot see a figure has only its alternative text. If that says "training steps (millions), from
0 to 5,000,000", nothing in the page tells that it is wrong. So words that name an axis and numbers
on it are read, and compared with what the axis shows, in the units of its ticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure as Drawing

NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
ROUNDED = 0.01
"""Part of an axis by which a number may lie outside of it: words have three digits."""


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


def contradictions(text: str, shown: Iterable[Shown]) -> list[str]:
    """Find the numbers of an alternative text that lie outside the axis they speak of.

    Parameters
    ----------
    text
        The alternative text.
    shown
        As from `shown_axes`.

    Returns
    -------
    list of str
        What is said and what is shown, a line for each.
    """
    shown = list(shown)
    found: list[str] = []
    for label in dict.fromkeys(one.label for one in shown):
        own = [one for one in shown if one.label == label]
        pattern = rf"{re.escape(label)},? (?:from )?({NUMBER})(?: to ({NUMBER}))?"
        pattern += rf"(?: \(({NUMBER}) to ({NUMBER})\))?(?=[ ,;.]|$)"
        found += _outside(pattern, text, own)
    up = [one for one in shown if one.direction == "y"]
    return found + list(_outside(rf"goes from ({NUMBER}) to ({NUMBER})", text, up) if up else [])


def _outside(pattern: str, text: str, shown: list[Shown]) -> Iterator[str]:
    for said in re.finditer(pattern, text):
        numbers = [float(part.replace(",", "")) for part in said.groups() if part]
        for number in numbers:
            if not any(_within(number, one) for one in shown):
                ranges = ", ".join(f"{one.low:.6g} to {one.high:.6g}" for one in shown)
                yield f"{said[0]!r}, but the axis shows {ranges}"


def _within(number: float, shown: Shown) -> bool:
    slack = ROUNDED * max(shown.high - shown.low, abs(shown.low), abs(shown.high))
    return shown.low - slack <= number <= shown.high + slack
