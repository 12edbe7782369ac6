"""Reward against bias: every method as a point with its interval, every seed as a dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D

from longfair.errors import UsageError
from longfair.figures._beside import write_beside
from longfair.figures._cut_axis import Cut, cut_where_empty, left_out
from longfair.figures._frames import Arms, Styles, arms, policies, require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    BLACK,
    LineStyle,
    canvas,
    fit_words,
    legend,
    number,
    squeeze_beyond,
    styled,
    within,
)


@drawing
def trade_off(
    summaries: pd.DataFrame,
    *,
    interval: str,
    seeds: pd.DataFrame,
    references: pd.DataFrame | None = None,
    reward_label: str = "reward per step",
    bias_label: str = "bias",
    styles: Styles = None,
    logarithmic_beyond: float | None = None,
    frontier: pd.DataFrame | None = None,
) -> Figure:
    """Draw bias across and reward up, so that the best corner is the upper left.

    Where some marks are far above or below all others, the axis of the reward is cut between them.

    Parameters
    ----------
    summaries
        Columns method, metric, value, low, high; variant if methods come in several. Per method
        one row for the metric `"reward"` and one for `"bias"`.
    interval
        What the crosses are, for example "mean with 95 % interval, 10 seeds".
    seeds
        Columns method, seed, reward, bias (and variant): the single runs, drawn as dots.
    references
        Columns method, reward, bias: policies that learn nothing, labelled in the figure.
    reward_label, bias_label
        Axis labels.
    styles
        Styles of methods the library does not know.
    logarithmic_beyond
        A reward beyond which its axis is logarithmic; see `style.squeeze_beyond`.
    frontier
        Columns reward, bias: points that a black line joins. It does not change how far the axes
        go, and the words do not speak of it.

    Returns
    -------
    Figure
        Its data hold the single runs and the references.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty, or a method has no style or not one row of a
        metric.
    """
    summaries = require(summaries, ["method", "metric", "value", "low", "high"], "summaries")
    seeds = require(seeds, ["method", "seed", "reward", "bias"], "seeds")
    if references is not None:
        references = require(references, ["method", "reward", "bias"], "references")
    dots = arms(seeds, styles)
    crosses = [
        _Point(style, _ends(rows, "bias"), _ends(rows, "reward"))
        for style, rows in arms(summaries, styles).values()
    ]
    named = [
        _Point(style, (row["bias"],) * 3, (row["reward"],) * 3)
        for style, row in policies(references, styles)
    ]
    figure, (axes,) = canvas(7.2, 4.8)
    cuts: list[Cut] = []
    with styled():
        _draw(axes, dots, crosses)
        joined = _join(axes, frontier)
        axes.set_xlabel(bias_label)
        if logarithmic_beyond is not None:
            reward_label += squeeze_beyond(axes, logarithmic_beyond)
        else:
            cuts = cut_where_empty(axes, *_reached([*crosses, *named], seeds))
        axes.set_ylabel(reward_label)
        legend(
            figure,
            [
                Line2D([], [], markersize=10, label=style.label, **style.points)
                for style, *_ in crosses
            ],
        )
        if named:
            _write_names(figure, axes, named, crosses, seeds, cuts, joined)
    parts = [
        f"Scatter plot with {bias_label} on the horizontal and {reward_label} on the vertical "
        f"axis, best in the upper left corner; {interval}."
        f"{left_out(cuts)}"
    ]
    parts += [cross.said(bias_label, reward_label) for cross in crosses]
    parts += [f"Reference {point.said(bias_label, reward_label)}" for point in named]
    drawn = [seeds] if references is None else [seeds, references]
    marks = f"{interval}; small dots are runs"
    return Figure(figure, " ".join(parts), pd.concat(drawn, ignore_index=True), marks=marks)


class _Point(NamedTuple):
    """A method or policy: value, low and high of both quantities."""

    style: LineStyle
    bias: tuple[float, float, float]
    reward: tuple[float, float, float]

    @property
    def place(self) -> tuple[float, float]:
        return self.bias[0], self.reward[0]

    def said(self, bias_label: str, reward_label: str) -> str:
        ends = [
            f"{what} {number(value)}{within(low, high)}"
            for what, (value, low, high) in ((bias_label, self.bias), (reward_label, self.reward))
        ]
        return f"{self.style.label}: {', '.join(ends)}."


def _ends(rows: pd.DataFrame, metric: str) -> tuple[float, float, float]:
    """Return value, low and high of a metric of one method."""
    found = rows.loc[rows["metric"] == metric, ["value", "low", "high"]].to_numpy(float)
    if len(found) != 1:
        raise UsageError(
            f"summaries has {len(found)} rows of {metric} of {rows['method'].iloc[0]}; give one"
        )
    value, low, high = found[0].tolist()
    return value, low, high


def _reached(points: Sequence[_Point], seeds: pd.DataFrame) -> np.ndarray:
    """Return where marks begin and end in reward (2, K): intervals, single runs, references."""
    single = seeds["reward"].to_numpy(float)
    ends = np.array([[min(point.reward), max(point.reward)] for point in points]).reshape(-1, 2)
    return np.hstack([ends.T, [single, single]])


def _draw(axes: Axes, dots: Arms, crosses: Sequence[_Point]) -> None:
    """Draw single runs as dots, and means or medians as crosses."""
    for style, rows in dots.values():
        axes.plot(rows["bias"], rows["reward"], markersize=4, alpha=0.45, **style.points)
    for style, across, up in crosses:
        axes.errorbar(
            across[0],
            up[0],
            xerr=_reach(*across),
            yerr=_reach(*up),
            markersize=10,
            markeredgewidth=1.5,
            capsize=4,
            elinewidth=1.8,
            zorder=4,
            **style.points,
        )


def _reach(value: float, low: float, high: float) -> np.ndarray:
    """How far the interval reaches below and above the value, never negative."""
    reach: np.ndarray = np.maximum(0.0, [[value - low], [high - value]])
    return reach


def _write_names(
    figure: MatplotlibFigure,
    axes: Axes,
    named: Sequence[_Point],
    crosses: Sequence[_Point],
    seeds: pd.DataFrame,
    cuts: Sequence[Cut],
    joined: np.ndarray,
) -> None:
    """Draw reference policies, and write the name of each where it covers nothing."""
    for point in named:
        axes.plot(*point.place, zorder=5, **point.style.points)
    axes.margins(0.12)
    fit_words(figure)
    figure.draw_without_rendering()  # from here on the panel keeps its place
    places = [point.place for point in (*named, *crosses)]
    centres = axes.transData.transform(np.vstack([places, seeds[["bias", "reward"]]]))
    taken = [*np.hstack([centres - 7, centres + 7]), *_bands(axes, cuts)]
    taken += [*_bars(axes, crosses), *_along(axes, joined)]
    from_the_left = sorted(named, key=lambda point: point.place)  # where there is least room
    write_beside(axes, [(point.style.label, point.place) for point in from_the_left], taken)


def _join(axes: Axes, frontier: pd.DataFrame | None) -> np.ndarray:
    """Draw a line through points, if there are any; return them: bias and reward (K, 2)."""
    points = np.empty((0, 2))
    if frontier is not None:
        points = frontier[["bias", "reward"]].to_numpy(float)
        axes.add_artist(Line2D(*points.T, color=BLACK, lw=1.0))  # which moves no axis
    return points


def _bars(axes: Axes, crosses: Sequence[_Point]) -> list[np.ndarray]:
    """Return where the intervals of methods are drawn: left, bottom, right, top in pixels."""
    found = []
    for _, across, up in crosses:
        for ends in ([(end, up[0]) for end in across], [(across[0], end) for end in up]):
            pixels = axes.transData.transform(ends)
            found.append(np.hstack([pixels.min(axis=0) - 4, pixels.max(axis=0) + 4]))
    return found


def _along(axes: Axes, joined: np.ndarray) -> list[np.ndarray]:
    """Return small rectangles along a line through points: left, bottom, right, top in pixels."""
    if len(joined) < 2:
        return []
    corners = axes.transData.transform(joined)
    length = np.hstack([0.0, np.hypot(*np.diff(corners, axis=0).T).cumsum()])
    at = np.linspace(0.0, length[-1], 150)
    spots = np.stack([np.interp(at, length, one) for one in corners.T], axis=-1)
    return [*np.hstack([spots - 3, spots + 3])]


def _bands(axes: Axes, cuts: Sequence[Cut]) -> list[np.ndarray]:
    """Return where the bands of cuts are: left, bottom, right, top in pixels."""
    left, _, right, _ = axes.get_window_extent().extents
    heights = [axes.transData.transform([(0.0, end) for end in cut])[:, 1] for cut in cuts]
    return [np.array([left, low, right, high]) for low, high in heights]
