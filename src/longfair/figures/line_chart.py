"""A plain line chart for worked examples: a few named series over one variable."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    along_large_axis,
    canvas,
    from_to,
    group_style,
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
