"""Reward against bias: every method as a point with its interval, every seed as a dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from longfair.figures._frames import arms, require, several_variants
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    GREY,
    PIXELS_PER_INCH,
    LineStyle,
    canvas,
    label,
    legend,
    method_style,
    number,
    squeeze_beyond,
    styled,
    within,
)

_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


@drawing
def trade_off(
    summaries: pd.DataFrame,
    *,
    interval: str,
    seeds: pd.DataFrame,
    references: pd.DataFrame | None = None,
    reward_label: str = "reward per step",
    bias_label: str = "bias",
    styles: Mapping[str, LineStyle] | None = None,
    logarithmic_beyond: float | None = None,
) -> Figure:
    """Draw bias across and reward up, so that the best corner is the upper left.

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

    Returns
    -------
    Figure
        Its data hold the single runs and the references.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty or a method has no style.
    """
    summaries = require(summaries, ["method", "metric", "value", "low", "high"], "summaries")
    seeds = require(seeds, ["method", "seed", "reward", "bias"], "seeds")
    figure, (axes,) = canvas(7.2, 4.8)
    several = several_variants(summaries)
    drawn = [seeds]
    with styled():
        _dots(axes, seeds, styles)
        crosses = _crosses(axes, summaries, styles)
        axes.set_xlabel(bias_label)
        if logarithmic_beyond is not None:
            reward_label += squeeze_beyond(axes, logarithmic_beyond)
        axes.set_ylabel(reward_label)
        legend(figure, _handles(summaries, several, styles))
        if references is not None:
            references = require(references, ["method", "reward", "bias"], "references")
            drawn.append(references)
            _references(axes, references, styles)
            _write_names(figure, axes, references, [crosses, seeds], styles)
    alt_text = _describe(summaries, references, interval, reward_label, bias_label, styles)
    return Figure(figure, alt_text, pd.concat(drawn, ignore_index=True))


def _dots(axes: Axes, seeds: pd.DataFrame, styles: Mapping[str, LineStyle] | None) -> None:
    for method, variant, rows in arms(seeds):
        style = method_style(method, variant, styles)
        axes.plot(
            rows["bias"],
            rows["reward"],
            linestyle="none",
            marker=style.marker,
            markersize=4,
            color=style.colour,
            markerfacecolor=style.face,
            alpha=0.45,
        )


def _crosses(
    axes: Axes,
    summaries: pd.DataFrame,
    styles: Mapping[str, LineStyle] | None,
) -> pd.DataFrame:
    """Draw the crosses; return where their middles are."""
    middles = []
    for method, variant, rows in arms(summaries):
        style = method_style(method, variant, styles)
        across, up = (_ends(rows, metric) for metric in ("bias", "reward"))
        middles.append((across[0], up[0]))
        axes.errorbar(
            across[0],
            up[0],
            xerr=_reach(*across),
            yerr=_reach(*up),
            marker=style.marker,
            markersize=10,
            color=style.colour,
            markerfacecolor=style.face,
            markeredgewidth=1.5,
            capsize=4,
            elinewidth=1.8,
            linestyle="none",
            zorder=4,
        )
    return pd.DataFrame(middles, columns=["bias", "reward"])


def _handles(
    summaries: pd.DataFrame, several: bool, styles: Mapping[str, LineStyle] | None
) -> list[Line2D]:
    handles = []
    for method, variant, _ in arms(summaries):
        style = method_style(method, variant, styles)
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=style.marker,
                markersize=10,
                color=style.colour,
                markerfacecolor=style.face,
                label=label(style, variant, several=several),
            )
        )
    return handles


def _ends(rows: pd.DataFrame, metric: str) -> tuple[float, float, float]:
    """Return value, low and high of a metric of one method."""
    row = rows[rows["metric"] == metric].iloc[0]
    return float(row["value"]), float(row["low"]), float(row["high"])


def _reach(value: float, low: float, high: float) -> np.ndarray:
    """How far the interval reaches below and above the value, never negative."""
    reach: np.ndarray = np.maximum(0.0, [[value - low], [high - value]])
    return reach


def _references(
    axes: Axes, references: pd.DataFrame, styles: Mapping[str, LineStyle] | None
) -> None:
    for _, row in references.iterrows():
        style = method_style(str(row["method"]), "", styles)
        axes.plot(
            row["bias"],
            row["reward"],
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            zorder=5,
        )


def _write_names(
    figure: MatplotlibFigure,
    axes: Axes,
    references: pd.DataFrame,
    obstacles: Sequence[pd.DataFrame],
    styles: Mapping[str, LineStyle] | None,
) -> None:
    """Write the name of each reference policy where it covers nothing."""
    axes.margins(0.12)
    figure.draw_without_rendering()  # from here on the panel keeps its place
    points = pd.concat([frame[["bias", "reward"]] for frame in (references, *obstacles)])
    centres = axes.transData.transform(np.asarray(points, dtype=float))
    taken = [*np.hstack([centres - 7, centres + 7])]
    for _, row in references.iterrows():
        style = method_style(str(row["method"]), "", styles)
        taken.append(_write(axes, style.label, (row["bias"], row["reward"]), taken))


def _write(
    axes: Axes, name: str, point: tuple[float, float], taken: Sequence[np.ndarray]
) -> np.ndarray:
    """Try places around the point, nearest first; keep the one that covers least."""
    text = axes.annotate(
        name,
        xy=point,
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=9.5,
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 5},
        zorder=6,
    )
    text.set_in_layout(False)  # else the words would move the panel they were placed in
    size = Text.get_window_extent(text)
    frame, origin = axes.get_window_extent(), axes.transData.transform(point)
    places = _places(origin, np.array([size.width, size.height]))
    middles = (places[:, :2] + places[:, 2:]) / 2
    cost = sum(_shared(places, other) for other in taken)
    cost = cost + 20 * (_shared(places, places) - _shared(places, np.array(frame.extents)))
    best = int(np.argmin(cost + 0.5 * np.hypot(*(middles - origin).T)))
    text.set_position((middles[best] - origin) * 72 / PIXELS_PER_INCH)
    written: np.ndarray = places[best]
    return written


def _places(origin: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return rectangles (K, 4) for words around a point, all in pixels.

    A rectangle is left, bottom, right, top. Its nearest edge lies where the place is.
    """
    reaches = (10, 16, 24, 36, 50, 70, 95)
    away = np.array([np.multiply(way, reach) for reach in reaches for way in _DIRECTIONS])
    corners = origin + away + size / 2 * (np.sign(away) - 1)
    return np.hstack([corners, corners + size])


def _shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the areas (K,) that rectangles (K, 4) share with others, or with one of them."""
    low = np.maximum(first[..., :2], second[..., :2])
    high = np.minimum(first[..., 2:], second[..., 2:])
    areas: np.ndarray = np.maximum(high - low, 0.0).prod(axis=-1)
    return areas


def _describe(
    summaries: pd.DataFrame,
    references: pd.DataFrame | None,
    interval: str,
    reward_label: str,
    bias_label: str,
    styles: Mapping[str, LineStyle] | None,
) -> str:
    several = several_variants(summaries)
    parts = [
        f"Scatter plot with {bias_label} on the horizontal and {reward_label} on the vertical "
        f"axis, best in the upper left corner; {interval}."
    ]
    for method, variant, rows in arms(summaries):
        name = label(method_style(method, variant, styles), variant, several=several)
        said = []
        for metric, what in (("bias", bias_label), ("reward", reward_label)):
            value, low, high = _ends(rows, metric)
            said.append(f"{what} {number(value)}{within(low, high)}")
        parts.append(f"{name}: {', '.join(said)}.")
    if references is not None:
        for _, row in references.iterrows():
            name = method_style(str(row["method"]), "", styles).label
            parts.append(
                f"Reference {name}: {bias_label} {number(row['bias'])}, "
                f"{reward_label} {number(row['reward'])}."
            )
    return " ".join(parts)
