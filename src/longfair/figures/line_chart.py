"""A plain line chart for worked examples: a few named series over one variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    along_large_axis,
    canvas,
    from_to,
    group_style,
    head,
    large_axis,
    legend,
    styled,
)

LINE = 14.0
"""Height of a line of names above a panel, in points."""


@drawing
def line_chart(
    frame: pd.DataFrame,
    *,
    across: str,
    up: str,
    logarithmic: bool = False,
    ticks: Sequence[float] = (),
) -> Figure:
    """Draw one line per column over the index.

    Parameters
    ----------
    frame
        One column of numbers per line, under the name of the line; the index is the horizontal
        variable.
    across, up
        Axis labels in lower case, with units.
    logarithmic
        Whether the horizontal axis is logarithmic.
    ticks
        Where the horizontal axis has ticks, if not at places chosen for it.

    Returns
    -------
    Figure
        Its data are the frame, with the horizontal variable as first column.

    Raises
    ------
    UsageError
        If the table is empty or has missing values, or there are more lines than styles.
    """
    frame = require(frame, list(frame.columns), "frame").sort_index()
    figure, (axes,) = canvas(7.2, 3.8)
    places = frame.index.to_numpy()
    first, last = float(places[0]), float(places[-1])
    span = from_to(first, last)
    parts = []
    with styled():
        for index, (name, values) in enumerate(frame.items()):
            curve = group_style(index, str(name)).curve
            axes.plot(places, values, markevery=max(1, len(frame) // 8), **curve)
            parts.append(f"{name} goes {from_to(values.iloc[0], values.iloc[-1])}.")
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel(label := across)
        else:
            label, span = large_axis(axes, last, across), along_large_axis(first, last)
        axes.set_ylabel(up)
        if ticks:
            axes.set_xticks(ticks)
        legend(figure)
    parts.insert(0, f"Line chart of {up} against {label}, {span}.")
    return Figure(figure, " ".join(parts), frame.rename_axis(across).reset_index())


@drawing
def line_panels(panels: Mapping[str, pd.DataFrame], *, across: str, averaged: int = 1) -> Figure:
    """Draw several line charts over the same variable side by side, each with names of its own.

    Names stand between the title and the lines.

    Parameters
    ----------
    panels
        Title of a panel, which is what its lines are, to a table as `line_chart` takes it. All
        tables have the same index.
    across
        The horizontal axis in lower case, with its unit.
    averaged
        Draw running means over so many neighbouring values, fewer at the ends, and the values pale
        behind them.

    Returns
    -------
    Figure
        Its data are the values of all panels, under title and name.

    Raises
    ------
    UsageError
        If a table is empty or has missing values, or there are more lines than styles.
    """
    frames = {
        title: require(frame, list(frame.columns), title).sort_index()
        for title, frame in panels.items()
    }
    names = max(len(frame.columns) for frame in frames.values())
    figure, places = canvas(7.2, 3.1 + 0.2 * names, columns=len(frames), sharex=True)
    parts = []
    with styled():
        for axes, (title, frame) in zip(places, frames.items(), strict=True):
            first, last = float(frame.index[0]), float(frame.index[-1])
            drawn = frame.rolling(averaged, min_periods=1, center=True).mean()
            for index, (name, values) in enumerate(drawn.items()):
                style = group_style(index, str(name))
                if averaged > 1:
                    axes.plot(frame.index, frame[name], color=style.colour, lw=0.6, alpha=0.3)
                axes.plot(drawn.index, values, markevery=max(1, len(frame) // 6), **style.curve)
                parts.append(f"{title}: {name} goes {from_to(values.iloc[0], values.iloc[-1])}.")
            _named_above(axes, title, names)
            label, span = large_axis(axes, last, across), along_large_axis(first, last)
            axes.set_xlabel("")
        figure.supxlabel(label, fontsize="medium")
    named = ", ".join(frames)
    means = f", running means over {averaged} values" if averaged > 1 else ""
    parts.insert(0, f"Line charts of {named}, against {label}, {span}{means}.")
    data = pd.concat([frame.add_prefix(f"{title}, ") for title, frame in frames.items()], axis=1)
    return Figure(figure, " ".join(parts), data.rename_axis(across).reset_index())


def _named_above(axes: Axes, title: str, rows: int) -> None:
    """Write a title above a panel, and between both the names of its lines if it has several.

    Parameters
    ----------
    axes
        The panel.
    title
        Its title.
    rows
        For how many names there is room, so that titles beside each other have one height.
    """
    room = LINE * rows if rows > 1 else 0.0
    head(axes, title, above=6.0 + room)
    if len(axes.get_legend_handles_labels()[0]) < 2:
        return
    above = ScaledTranslation(0.0, room / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=axes.transAxes + above,
        fontsize=9,
        borderpad=0.0,
        borderaxespad=0.0,
        labelspacing=0.3,
    )
