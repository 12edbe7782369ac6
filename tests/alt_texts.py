"""Hold what a figure's words say against the axes that are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from longfair.figures.words import Shown

NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
ROUNDED = 0.01
"""Part of an axis by which a number may lie outside of it: words have three digits."""


def contradictions(text: str, shown: Iterable[Shown]) -> list[str]:
    """Find the numbers of an alternative text that lie outside the axis they speak of.

    Parameters
    ----------
    text
        The alternative text.
    shown
        As from `longfair.figures.words.shown_axes`.

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
