"""A dot with an interval per named thing, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    GREY,
    canvas,
    group_style,
    legend,
    number,
    on_a_phone,
    styled,
    within,
)


@drawing
def dot_intervals(
    frame: pd.DataFrame,
    *,
    across: str,
    band: str,
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
    references
        Columns `name`, `value`: things drawn as vertical lines that carry their names on top.
    lowest
        None: a linear axis. A number above 0: a logarithmic axis that begins there; what is
        smaller is drawn at its edge.

    Returns
    -------
    Figure
        Its data are the frame.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty or there are more series than styles.
    """
    frame = require(frame, ["name", "series", "value", "low", "high"], "frame")
    names = list(dict.fromkeys(frame["name"]))
    series = list(dict.fromkeys(frame["series"]))
    row = 0.55 if on_a_phone() else 0.36
    figure, (axes,) = canvas(7.2, 1.3 + row * len(names) + 0.3 * (references is not None))
    parts = [f"Dots with lines: {across}; {band}."]
    with styled():
        for index, (kind, rows) in enumerate(frame.groupby("series", sort=False)):
            style = group_style(index, str(kind))
            places = np.array([names.index(name) for name in rows["name"]], dtype=float)
            places += 0.26 * (index - (len(series) - 1) / 2)
            shown = rows[["value", "low", "high"]].clip(lower=lowest).to_numpy(dtype=float)
            axes.hlines(places, shown[:, 1], shown[:, 2], color=style.colour, lw=2.0)
            axes.plot(shown[:, 0], places, clip_on=False, label=style.label, **style.points)
        for name in names:
            rows = frame.loc[frame["name"] == name, ["series", "value", "low", "high"]]
            said = [
                f"{kind} {number(value)}{within(low, high)}"
                for kind, value, low, high in rows.itertuples(index=False, name=None)
            ]
            parts.append(f"{name}: {', '.join(said)}.")
        if references is not None:
            references = require(references, ["name", "value"], "references")
            ordered = references.sort_values("value")
            for place, (name, value) in enumerate(
                zip(ordered["name"], ordered["value"], strict=True)
            ):
                axes.axvline(value, color=GREY, linestyle=":", lw=1.4, zorder=0)
                axes.annotate(
                    name,
                    xy=(value, 1.0),
                    xycoords=axes.get_xaxis_transform(),
                    xytext=(0, 4 + 13 * (place % 2)),  # neighbours at two heights
                    textcoords="offset points",
                    ha="center",
                    fontsize=9.5,
                )
                parts.append(f"Vertical line: {name} {number(value)}.")
        name_rows(axes, names)
        axes.set_xlabel(across)
        if lowest is not None:
            axes.set_xscale("log")
            axes.set_xlim(left=lowest)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        if len(series) > 1:
            legend(figure)
    return Figure(figure, " ".join(parts), frame.drop(columns="variant"))


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
            xy=(0.0, place - 0.4),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
        )
