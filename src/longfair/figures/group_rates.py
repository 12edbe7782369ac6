"""Rates, supply and demand group by group, as bars at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from longfair.figures._frames import Arms, Styles, arms, require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    BLACK,
    LineStyle,
    canvas,
    group_style,
    legend,
    number,
    styled,
)

_HATCHES = ("", "//", "..", "xx", "--")


@drawing
def group_rates(
    frame: pd.DataFrame,
    *,
    quantities: Mapping[str, str],
    interval: str,
    group_names: Sequence[str] = (),
    styles: Styles = None,
) -> Figure:
    """Draw one panel per quantity, one row per method and one bar per group.

    Parameters
    ----------
    frame
        Columns method, metric, group, value, low, high; variant if methods come in several.
    quantities
        Metric to the label of its panel, with unit, in the order of the panels.
    interval
        What the whiskers are, for example "mean with 95 % interval, 10 seeds".
    group_names
        Names of groups 0, 1, ...; by default "group 0", "group 1", ...
    styles
        Styles of methods the library does not know.

    Returns
    -------
    Figure
        Its data are the rows drawn.

    Raises
    ------
    UsageError
        If a column is missing, a table is empty or a method or group has no style.
    """
    shown = _shown(frame, quantities)
    parts = arms(shown, styles)
    names = [style.label for style, _ in parts.values()]
    groups = sorted(int(group) for group in shown["group"].unique())
    height = 1.3 + 0.28 * len(names) * len(groups)
    figure, panels = canvas(
        2.2 + 1.8 * len(quantities), height, columns=len(quantities), sharey=True
    )
    with styled():
        for axes, (metric, text) in zip(panels, quantities.items(), strict=True):
            _bars(axes, parts, metric, groups, group_names)
            axes.set_xlabel(text)
            axes.set_yticks(range(len(names)), names)
            axes.grid(axis="y", visible=False)
        panels[0].invert_yaxis()
        legend(figure)
    alt_text = _describe_bars(parts, quantities, interval, group_names)
    return Figure(figure, alt_text, shown, marks=interval)


def _shown(frame: pd.DataFrame, quantities: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of single groups; refuse a table that is incomplete or has none."""
    frame = require(frame, ["method", "metric", "group", "value", "low", "high"], "frame")
    rows = frame[frame["metric"].isin(list(quantities)) & (frame["group"] >= 0)]
    return require(rows, ["metric"], f"frame, for {' and '.join(quantities)}")


def _style(group: int, names: Sequence[str]) -> LineStyle:
    return group_style(group, names[group] if group < len(names) else "")


def _name(group: int, names: Sequence[str]) -> str:
    return _style(group, names).label


def _bars(
    axes: Axes, parts: Arms, metric: str, groups: Sequence[int], names: Sequence[str]
) -> None:
    thickness = 0.8 / len(groups)
    for place, group in enumerate(groups):
        style = _style(group, names)
        values = [
            rows[(rows["metric"] == metric) & (rows["group"] == group)].iloc[0]
            for _, rows in parts.values()
        ]
        middle = np.array([row["value"] for row in values], dtype=float)
        low = np.array([row["low"] for row in values], dtype=float)
        high = np.array([row["high"] for row in values], dtype=float)
        axes.barh(
            np.arange(len(values)) + (place - (len(groups) - 1) / 2) * thickness,
            middle,
            height=thickness * 0.92,
            xerr=np.maximum(0.0, [middle - low, high - middle]),
            color=style.colour,
            alpha=0.85,
            hatch=_HATCHES[group],
            edgecolor="white",
            error_kw={"ecolor": BLACK, "capsize": 2.5, "elinewidth": 1.2},
            label=style.label,
        )


def _describe_bars(
    parts: Arms, quantities: Mapping[str, str], interval: str, names: Sequence[str]
) -> str:
    said = [f"Bar charts of {', '.join(quantities.values())} by method and group; {interval}."]
    for style, of_method in parts.values():
        clauses = []
        for metric, text in quantities.items():
            of_metric = of_method[of_method["metric"] == metric].sort_values("group")
            values = [
                f"{_name(int(row['group']), names)} {number(row['value'])}"
                for _, row in of_metric.iterrows()
            ]
            clauses.append(f"{text} {', '.join(values)}")
        said.append(f"{style.label}: {'; '.join(clauses)}.")
    return " ".join(said)
