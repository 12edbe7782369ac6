"""A quantity against training steps, with intervals, single seeds and reference lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from scipy.optimize import isotonic_regression

from longfair.figures._frames import Arms, Policies, Styles, arms, policies, require
from longfair.figures._panels import side_by_side
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    GREY,
    LineStyle,
    along_large_axis,
    banded,
    canvas,
    from_to,
    head,
    large_axis,
    legend,
    number,
    on_a_phone,
    squeeze_beyond,
    styled,
)

CROWDED = 3
"""Methods whose single runs can be told apart in one panel."""


@drawing
def learning_curves(
    bands: pd.DataFrame,
    *,
    quantity: str,
    band: str,
    runs: pd.DataFrame | None = None,
    thin_lines: bool = True,
    references: pd.DataFrame | None = None,
    styles: Styles = None,
    across: str | None = None,
    logarithmic_beyond: float | None = None,
    apart: bool = False,
) -> Figure:
    """Draw one curve with a band per method, over thin lines of its single seeds.

    Where more than three methods would hide each other's runs, each has a panel of its own, and the
    curves of the others stand behind it in grey.

    Parameters
    ----------
    bands
        Columns method, step, value, low, high; variant if methods come in several.
    quantity
        What is on the vertical axis, with its unit, in lower case.
    band
        What value and band are, for example "mean with 95 % interval, 10 seeds".
    runs
        Columns method, seed, step, value (and variant): the single runs.
    thin_lines
        Whether the single runs are drawn; they are the figure's data in any case.
    references
        Columns method, value: policies that learn nothing, drawn as horizontal lines that carry
        their names at the right edge.
    styles
        Styles of methods the library does not know.
    across
        What `step` is, in lower case, if not training steps.
    logarithmic_beyond
        A number beyond which the vertical axis is logarithmic; see `style.squeeze_beyond`.
    apart
        Whether each method has a panel of its own even where they are few.

    Returns
    -------
    Figure
        Its data hold the single runs if given, otherwise the bands.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty or a method has no style.
    """
    bands = require(bands, ["method", "step", "value", "low", "high"], "bands")
    if runs is not None:
        runs = require(runs, ["method", "seed", "step", "value"], "runs")
    if references is not None:
        references = require(references, ["method", "value"], "references")
    drawn = runs if thin_lines else None
    curves, thin = arms(bands, styles), {} if drawn is None else arms(drawn, styles)
    lines = policies(references, styles)
    crowded = bool(thin) and (apart or len(curves) > CROWDED)
    count = len(curves) if crowded else 1
    columns = side_by_side(count, 2 if count == 4 else 3)  # with four no place is empty
    rows = -(-count // columns)
    size = (7.2, max(3.6, 0.9 + 2.3 * rows) if crowded else 4.2)
    figure, panels = canvas(
        *size, columns=columns, rows=rows, count=count, sharex=True, sharey=True
    )
    with styled():
        if crowded:
            _method_by_method(panels, curves, thin)
        else:
            for style, own in thin.values():
                _single_runs(panels[0], style, own)
            _curves(panels[0], curves)
        whole = figure if crowded else None
        against = _axes(panels, bands["step"], quantity, across, logarithmic_beyond, whole)
        cut = _cut_bands(panels[0], bands, drawn, references)
        if crowded:
            _behind(figure, panels, lines)
        else:
            _reference_lines(panels[0], lines)
            legend(figure)
    each = ", a panel for each method" if crowded else ""
    said = [f"Line chart of {against}{each}; {band}.", *_ends(curves)]
    if lines:
        named = [f"{style.label} {number(row['value'])}" for style, row in lines]
        said.append(f"Horizontal reference lines: {', '.join(named)}.")
    if cut:
        said.append("Some bands go on beyond the edge of the drawing.")
    marks = f"{band}{'; thin lines are single runs' * bool(thin)}"
    return Figure(figure, " ".join(said), bands if runs is None else runs, marks=marks)


def _cut_bands(
    axes: Axes, bands: pd.DataFrame, runs: pd.DataFrame | None, references: pd.DataFrame | None
) -> bool:
    """Let a band of a mean reach at most half as far again as all runs; say whether one is cut.

    Where one run fails, the interval of the mean can go far beyond every run, and would leave the
    curves no room. Panels share the axis.
    """
    if runs is None:
        return False
    shown = [runs["value"], bands["value"], *([] if references is None else [references["value"]])]
    values = pd.concat(shown)
    low, high = float(values.min()), float(values.max())
    room = 0.5 * (high - low)
    cut = bool((bands["low"] < low - room).any() or (bands["high"] > high + room).any())
    if cut:
        lowest, highest = axes.get_ylim()
        axes.set_ylim(max(lowest, low - room), min(highest, high + room))
    return cut


def _method_by_method(panels: Sequence[Axes], curves: Arms, thin: Arms) -> None:
    """Give every method a panel, with the curves of the others in grey."""
    for axes, (arm, (style, own)) in zip(panels, curves.items(), strict=True):
        for _, other in curves.values():
            if other is not own:
                axes.plot(other["step"], other["value"], color=GREY, lw=1.0, alpha=0.6, zorder=1)
        if arm in thin:
            _single_runs(axes, *thin[arm])
        _curves(axes, {arm: (style, own)})
        head(axes, style.label)


def _behind(figure: Drawing, panels: Sequence[Axes], lines: Policies) -> None:
    """Draw reference lines in every panel, with their names at one that has room on its right.

    That is the last one if the place beside it is empty, and else the last one of the first row.
    """
    handles = [Line2D([], [], color=GREY, lw=1.0, alpha=0.6, label="the other panels")]
    empty = figure.axes[len(panels) :]
    first_row = panels[0].get_subplotspec()
    assert first_row is not None
    named = panels[-1] if empty else panels[first_row.get_gridspec().ncols - 1]
    handles += _reference_lines(named, lines, apart=0.1)
    legend(figure, handles)
    if empty:
        for words in named.texts:
            words.set_in_layout(False)  # they stand in the empty place
    for axes in [axes for axes in panels if axes is not named]:
        for style, row in lines:
            axes.axhline(row["value"], color=style.colour, linestyle=style.line, lw=1.4)


@drawing
def curve_panels(
    bands: pd.DataFrame,
    *,
    quantity: str,
    band: str,
    styles: Styles = None,
    logarithmic_beyond: float | None = None,
) -> Figure:
    """Draw learning curves with bands in several panels that share their axes, two in a row.

    Parameters
    ----------
    bands
        Columns panel (its title), method, step, value, low, high. Panels come in the order of
        their first rows, and all have the same methods.
    quantity, band, styles, logarithmic_beyond
        As `learning_curves`.

    Returns
    -------
    Figure
        Its data are the bands.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty or a method has no style.
    """
    bands = require(bands, ["panel", "method", "step", "value", "low", "high"], "bands")
    parts = {str(title): arms(own, styles) for title, own in bands.groupby("panel", sort=False)}
    count, rows = len(parts), -(-len(parts) // 2)
    size = (7.2, 0.8 + 2.8 * rows)
    figure, panels = canvas(
        *size, columns=min(count, 2), rows=rows, count=count, sharex=True, sharey=True
    )
    with styled():
        for panel, (title, curves) in zip(panels, parts.items(), strict=True):
            _curves(panel, curves)
            head(panel, title)
        against = _axes(panels, bands["step"], quantity, None, logarithmic_beyond, figure)
        legend(figure)
    said = [f"Line chart of {against}; {band}."]
    for title, curves in parts.items():
        said += [f"{title}:", *_ends(curves)]
    return Figure(figure, " ".join(said), bands, marks=band)


def _axes(
    panels: Sequence[Axes],
    steps: pd.Series[float],
    quantity: str,
    across: str | None,
    beyond: float | None,
    whole: Drawing | None,
) -> str:
    """Scale and name the axes, beside the whole drawing if panels share them; return its words."""
    first, last = float(steps.min()), float(steps.max())
    span = from_to(first, last)
    if across is None:
        across, span = large_axis(panels[0], last), along_large_axis(first, last)
    if beyond is not None:
        quantity += {squeeze_beyond(axes, beyond) for axes in panels}.pop()
    panels[0].set_xlim(first, last)
    if whole is None:
        panels[0].set(xlabel=across, ylabel=quantity)
    else:
        panels[0].set_xlabel("")
        whole.supxlabel(across, fontsize="medium")
        whole.supylabel(quantity, fontsize="medium")
    return f"{quantity} against {across}, {span}"


def _curves(axes: Axes, curves: Arms) -> None:
    for style, rows in curves.values():
        banded(axes, rows, style, 8, clip_on=False, zorder=3)


def _single_runs(axes: Axes, style: LineStyle, runs: pd.DataFrame) -> None:
    for _, run in runs.groupby("seed", sort=True):
        run = run.sort_values("step")
        axes.plot(run["step"], run["value"], color=style.colour, lw=0.6, alpha=0.35)


def _reference_lines(axes: Axes, lines: Policies, apart: float = 0.055) -> list[Line2D]:
    """Draw horizontal lines and write their names beside the right edge, pushed apart.

    Names are at least `apart` of the panel's height from each other. On a phone they have no room
    there: then the legend has the lines that are returned.
    """
    if not lines:
        return []
    values = np.array([row["value"] for _, row in lines], dtype=float)
    limits = np.array(axes.get_ylim())
    limits = np.array([min(limits.min(), values.min()), max(limits.max(), values.max())])
    scale = axes.yaxis.get_transform()  # a panel's height is measured after it
    low, high = scale.transform(limits)
    margin = 0.03 * (high - low)
    low, high = low - margin, high + margin
    axes.set_ylim(*scale.inverted().transform(np.array([low, high])))
    places = _apart((scale.transform(values) - low) / (high - low), apart)
    named = []
    for (style, row), place in zip(lines, places, strict=True):
        line = axes.axhline(row["value"], color=style.colour, linestyle=style.line, lw=1.4)
        if on_a_phone():
            line.set_label(f"{style.label}, {number(row['value'])}")
            named.append(line)
            continue
        axes.annotate(
            style.label,
            xy=(1.0, row["value"]),
            xytext=(14, place),
            xycoords=axes.get_yaxis_transform(),
            textcoords=("offset points", "axes fraction"),
            va="center",
            fontsize=9.5,
            arrowprops={"arrowstyle": "-", "color": style.colour, "lw": 1.2, "relpos": (0, 0.5)},
            annotation_clip=False,
        )
    return named


def _apart(values: np.ndarray, gap: float) -> np.ndarray:
    """Move values as little as possible so that neighbours are at least a gap apart."""
    order = np.argsort(values, kind="stable")
    room = gap * np.arange(len(values))
    places = np.empty_like(values)
    places[order] = isotonic_regression(values[order] - room).x + room
    return places


def _ends(curves: Arms) -> Iterator[str]:
    """Say from where to where every curve goes."""
    for style, rows in curves.values():
        rows = rows.sort_values("step")
        begin, end = rows.iloc[0], rows.iloc[-1]
        width = f" (band {number(end['low'])} to {number(end['high'])})"
        shown = width if end["low"] < end["high"] else ""
        yield f"{style.label} goes {from_to(begin['value'], end['value'])}{shown}."
