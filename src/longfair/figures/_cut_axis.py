"""A vertical axis that leaves out where nothing is, so that a far mark does not squeeze the rest.

Outside of the cuts the scale is one and linear: equal distances are equal differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from longfair.arrays import FloatArray
from longfair.figures.style import CARD, GREY, number

Cut = tuple[float, float]
"""Where a left-out stretch begins and ends."""

LONG = 0.2
"""Part of what the marks span from which an empty stretch is cut."""

LEFT = 0.45
"""An axis is cut if at most this part of it is left: then the rest gets twice the room."""

MOST = 2 / 3
"""Part of the marks that one stretch must hold, so that the others are exceptions."""

AROUND = 0.06
"""Room between a mark and a cut, and the height of a cut, as a part of what is left."""


def cut_where_empty(axes: Axes, lows: FloatArray, highs: FloatArray) -> list[Cut]:
    """Cut the vertical axis where nothing is; draw a grey band for each cut.

    Parameters
    ----------
    axes
        The panel, drawn.
    lows, highs
        Arrays (K,): where every mark, or interval, begins and ends.

    Returns
    -------
    list
        The cuts from below; none where cutting would hardly help.
    """
    cuts = _cuts(lows, highs)
    if not cuts:
        return []
    low, high = float(np.min(lows)), float(np.max(highs))
    left = high - low - sum(end - begin for begin, end in cuts)
    _scale(axes, cuts, AROUND * left, high - low)
    axes.yaxis.set_major_locator(FixedLocator(_ticks(cuts, low, high, left)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for cut in cuts:
        _band(axes, cut)
    return cuts


def left_out(cuts: Sequence[Cut]) -> str:
    """Say which stretches an axis leaves out; empty without cuts."""
    if not cuts:
        return ""
    words = [f"{number(begin)} to {number(end)}" for begin, end in cuts]
    return f" The vertical axis leaves out {' and '.join(words)}."


def _cuts(lows: FloatArray, highs: FloatArray) -> list[Cut]:
    order = np.argsort(lows, kind="stable")
    begins, reached = lows[order][1:], np.maximum.accumulate(highs[order])[:-1]
    whole = float(np.max(highs) - np.min(lows))
    (empty,) = np.nonzero(begins - reached > LONG * whole)
    left = whole - float((begins - reached)[empty].sum())
    held = np.diff([0, *empty + 1, len(lows)])
    if not len(empty) or left > LEFT * whole or held.max() < MOST * len(lows) or left <= 0:
        return []
    around = AROUND * left
    return [(float(reached[one]) + around, float(begins[one]) - around) for one in empty]


def _scale(axes: Axes, cuts: Sequence[Cut], height: float, span: float) -> None:
    """Draw every cut so high, in the units of the axis, and all else as it is."""
    knots = [cuts[0][0] - 10 * span, *np.ravel(cuts), cuts[-1][1] + 10 * span]
    steps = np.diff(knots)
    steps[1::2] = height
    places = np.concatenate([[0.0], np.cumsum(steps)])
    axes.set_yscale(
        "function",
        functions=(
            lambda value: np.interp(value, knots, places),
            lambda place: np.interp(place, places, knots),
        ),
    )


def _ticks(cuts: Sequence[Cut], low: float, high: float, left: float) -> list[float]:
    """Round numbers in every stretch that is left, one at least."""
    around = AROUND * left
    ends = [low - around, *np.ravel(cuts), high + around]
    even = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0.0, left)
    step = float(even[1] - even[0])
    ticks: list[float] = []
    for begin, end in zip(ends[::2], ends[1::2], strict=True):
        inside = np.arange(np.ceil(begin / step), np.floor(end / step) + 1) * step
        if not len(inside):
            inside = np.array([np.round((begin + end) / 2 / step * 10) * step / 10])
        ticks += inside.tolist()
    return ticks


def _band(axes: Axes, cut: Cut) -> None:
    axes.axhspan(*cut, facecolor="#EDEDED", lw=0, zorder=1.5)
    axes.text(
        0.99,
        sum(cut) / 2,
        "axis cut",
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center_baseline",
        fontsize=9,
        color=GREY,
    )
    for end in cut:
        axes.plot(
            [0.0],
            [end],
            transform=axes.get_yaxis_transform(),
            marker=[(-1.0, -0.5), (1.0, 0.5)],
            markersize=9,
            markerfacecolor=CARD,
            color=GREY,
            markeredgewidth=1.0,
            linestyle="none",
            clip_on=False,
        )
