"""A plain line chart for worked examples: a few named series over one variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

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
    frame = require(frame, list(frame.columns), "frame").drop(columns="variant").sort_index()
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
def line_panels(panels: Mapping[str, pd.DataFrame], *, across: str) -> Figure:
    """Draw several line charts over the same variable side by side, each with names of its own.

    Parameters
    ----------
    panels
        Title of a panel, which is what its lines are, to a table as `line_chart` takes it. All
        tables have the same index.
    across
        The horizontal axis in lower case, with its unit.

    Returns
    -------
    Figure
        Its data are the lines of all panels, under title and name.

    Raises
    ------
    UsageError
        If a table is empty or has missing values, or there are more lines than styles.
    """
    frames = {
        title: require(frame, list(frame.columns), title).drop(columns="variant").sort_index()
        for title, frame in panels.items()
    }
    figure, places = canvas(7.2, 3.1, columns=len(frames), sharex=True)
    parts = []
    with styled():
        for axes, (title, frame) in zip(places, frames.items(), strict=True):
            first, last = float(frame.index[0]), float(frame.index[-1])
            for index, (name, values) in enumerate(frame.items()):
                curve = group_style(index, str(name)).curve
                axes.plot(frame.index, values, markevery=max(1, len(frame) // 6), **curve)
                parts.append(f"{title}: {name} goes {from_to(values.iloc[0], values.iloc[-1])}.")
            head(axes, title)
            label, span = large_axis(axes, last, across), along_large_axis(first, last)
            if len(frame.columns) > 1:
                axes.legend(fontsize=9, frameon=True, framealpha=0.85, edgecolor="none")
    named = ", ".join(frames)
    parts.insert(0, f"Line charts of {named}, against {label}, {span}.")
    data = pd.concat([frame.add_prefix(f"{title}, ") for title, frame in frames.items()], axis=1)
    return Figure(figure, " ".join(parts), data.rename_axis(across).reset_index())
