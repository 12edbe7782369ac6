"""A dot with an interval per named thing, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from longfair.figures._frames import require
from longfair.figures._panels import side_by_side
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    CARD,
    GREY,
    LineStyle,
    canvas,
    group_style,
    head,
    legend,
    number,
    on_a_phone,
    styled,
    within,
)

_DASHES = (":", "--", "-.", "-", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
"""Vertical lines that are told apart in a legend."""

_HEIGHTS = 3
"""Heights at which names of vertical lines stand, so that neighbours do not meet."""


@drawing
def dot_intervals(
    frame: pd.DataFrame,
    *,
    across: str,
    band: str,
    runs: pd.DataFrame | None = None,
    references: pd.DataFrame | None = None,
    lowest: float | None = None,
) -> Figure:
    """Draw values with their intervals, the first name on top.

    Parameters
    ----------
    frame
        Columns `name`, `series`, `value`, `low`, `high`. Names are listed in order of appearance; a
        name may have one row per series.
    across
        Label of the horizontal axis in lower case, with units.
    band
        What dot and line are, for example "mean with 95 % interval, 10 seeds".
    runs
        Columns `name`, `series`, `value`: single runs, drawn as small dots.
    references
        Columns `name`, `value`: things drawn as vertical lines that carry their names on top.
    lowest
        None: a linear axis. A number above 0: a logarithmic axis that begins there; what is
        smaller is drawn at its edge.

    Returns
    -------
    Figure
        Its data are the single runs if given, otherwise the frame.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty or there are more series than styles.
    """
    frame = require(frame, ["name", "series", "value", "low", "high"], "frame")
    if runs is not None:
        runs = require(runs, ["name", "series", "value"], "runs")
        band = f"{band}; small dots are runs"
    names = list(dict.fromkeys(frame["name"]))
    series = list(dict.fromkeys(frame["series"]))
    lines = _references(references)
    room = 0.22 * len(lines) if on_a_phone() else 0.18 * min(len(lines), _HEIGHTS)
    figure, (axes,) = canvas(7.2, 1.3 + _row() * len(names) + room)
    with styled():
        shown = _placed(frame, names, series)
        shown[["value", "low", "high"]] = shown[["value", "low", "high"]].clip(lower=lowest)
        single = None if runs is None else _placed(runs, names, series)
        for index, (kind, rows) in enumerate(shown.groupby("series", sort=False)):
            style = group_style(index, str(kind))
            if single is not None:
                dots = single[single["series"] == kind]
                _small_dots(axes, dots.assign(value=dots["value"].clip(lower=lowest)), style)
            _dots(axes, rows, style)
        kinds, _ = axes.get_legend_handles_labels()
        handles = [*kinds * (len(series) > 1), *_vertical_lines(axes, lines)]
        name_rows(axes, names)
        axes.set_xlabel(across)
        if lowest is not None:
            axes.set_xscale("log")
            axes.set_xlim(left=lowest)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        if handles:
            legend(figure, handles)
    said = [f"Dots with lines: {across}; {band}.", *_said(frame)]
    said += [f"Vertical line: {name} {number(value)}." for name, value in lines]
    return Figure(figure, " ".join(said), frame if runs is None else runs, marks=band)


@drawing
def dot_panels(frame: pd.DataFrame, runs: pd.DataFrame, *, across: str, band: str) -> Figure:
    """Draw values with their intervals in several panels, each with a line at zero.

    A panel goes as far as its runs and values do. An interval that goes further ends in an arrow.

    Parameters
    ----------
    frame
        Columns `panel` (its title), `name`, `series`, `value`, `low`, `high`. Panels and names come
        in order of appearance, and all panels have the same names and series.
    runs
        Columns `panel`, `name`, `series`, `value`: single runs, drawn as small dots.
    across
        What the values are, in lower case, with units.
    band
        What dot and line are, for example "mean with 95 % interval, 10 seeds".

    Returns
    -------
    Figure
        Its data are the runs.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty or there are more series than styles.
    """
    frame = require(frame, ["panel", "name", "series", "value", "low", "high"], "frame")
    runs = require(runs, ["panel", "name", "series", "value"], "runs")
    parts = list(frame.groupby("panel", sort=False))
    names, series = (list(dict.fromkeys(frame[column])) for column in ("name", "series"))
    columns = side_by_side(len(parts))
    rows = -(-len(parts) // columns)
    figure, panels = canvas(
        7.2,
        0.8 + rows * (0.7 + _row() * len(names)),
        columns=columns,
        rows=rows,
        count=len(parts),
        sharey=True,
    )
    said = [f"Dots with lines: {across}; {band}; small dots are runs."]
    with styled():
        for axes, (title, own) in zip(panels, parts, strict=True):
            single = runs[runs["panel"] == title]
            axes.axvline(0.0, color=GREY, lw=1.4, zorder=1)
            placed = [_placed(part, names, series) for part in (single, own)]
            for index, kind in enumerate(series):
                style = group_style(index, str(kind))
                dots, means = (part[part["series"] == kind] for part in placed)
                _small_dots(axes, dots, style)
                _dots(axes, means, style, cut=_ends(single, own))
            name_rows(axes, names)
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            head(axes, str(title))
            said += [f"{title}:", *_said(own)]
        figure.supxlabel(across, fontsize="medium")
        legend(figure)
    marks = f"{band}; small dots are runs"
    return Figure(figure, " ".join(said), runs, marks=marks)


def _row() -> float:
    """Height of a row in inches: on a phone its name stands in it."""
    return 0.55 if on_a_phone() else 0.36


def _placed(rows: pd.DataFrame, names: Sequence[str], series: Sequence[str]) -> pd.DataFrame:
    """Add how far down every row stands: near its name, beside the other series that it has."""
    apart, lower = (0.2, 0.1) if on_a_phone() else (0.26, 0.0)  # on a phone below the name
    own = rows["series"].map(series.index).groupby(rows["name"])
    order = own.rank(method="dense") - (own.transform("nunique") + 1) / 2
    return rows.assign(place=rows["name"].map(names.index) + apart * order + lower)


def _small_dots(axes: Axes, runs: pd.DataFrame, style: LineStyle) -> None:
    axes.plot(runs["value"], runs["place"], **style.points, ms=3.5, mew=0, alpha=0.5)


def _dots(
    axes: Axes,
    rows: pd.DataFrame,
    style: LineStyle,
    cut: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Draw dots with intervals; one that is cut ends in an arrow."""
    inside = rows[["low", "high"]].clip(*cut)
    axes.hlines(rows["place"], inside["low"], inside["high"], color=style.colour, lw=2.0)
    axes.plot(rows["value"], rows["place"], clip_on=False, label=style.label, **style.points)
    for side, end, marker in (("low", cut[0], "<"), ("high", cut[1], ">")):
        for place in rows.loc[rows[side] != inside[side], "place"]:
            axes.plot(end, place, marker, color=style.colour, ms=6)


def _ends(*tables: pd.DataFrame) -> tuple[float, float]:
    """Return from where to where values go, and a little further."""
    values = pd.concat([table["value"] for table in tables])
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    return low - 0.1 * (high - low), high + 0.1 * (high - low)


def _said(frame: pd.DataFrame) -> list[str]:
    """Say the numbers of every name."""
    said = []
    for name, rows in frame.groupby("name", sort=False):
        told = [
            f"{kind} {number(value)}{within(low, high)}"
            for kind, value, low, high in rows[["series", "value", "low", "high"]].to_numpy()
        ]
        said.append(f"{name}: {', '.join(told)}.")
    return said


def _references(references: pd.DataFrame | None) -> list[tuple[str, float]]:
    """Return names and values of vertical lines, from left to right."""
    if references is None:
        return []
    ordered = require(references, ["name", "value"], "references").sort_values("value")
    return list(zip(ordered["name"], ordered["value"], strict=True))


def _vertical_lines(axes: Axes, lines: Sequence[tuple[str, float]]) -> list[Line2D]:
    """Draw vertical lines with their names on top; on a phone return them for the legend."""
    if on_a_phone():
        return [
            axes.axvline(value, color=GREY, ls=dashes, lw=1.4, zorder=0, label=name)
            for (name, value), dashes in zip(lines, cycle(_DASHES), strict=False)
        ]
    for place, (name, value) in enumerate(lines):
        axes.axvline(value, color=GREY, linestyle=":", lw=1.4, zorder=0)
        axes.annotate(
            name,
            xy=(value, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 4 + 13 * (place % _HEIGHTS)),
            textcoords="offset points",
            ha="center",
            fontsize=9.5,
        )
    return []


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of rows 0, 1, ... beside them; above them where the figure is narrow."""
    if not on_a_phone():
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        return
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks(range(len(names)), [""] * len(names))
    for place, name in enumerate(names):
        axes.annotate(
            name,
            xy=(0.0, place - 0.38),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            bbox={"facecolor": CARD, "edgecolor": "none", "pad": 2.0},
        )
