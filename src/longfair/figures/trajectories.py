"""Cumulative supply against cumulative demand: where rates of steps and of the whole are slopes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import canvas, group_style, legend, number, styled


@drawing
def trajectories(frame: pd.DataFrame, *, unit: str = "people") -> Figure:
    """Draw each trajectory as one panel with one path per group.

    A path starts at the origin and adds each step's demand to the right and each step's supply
    upwards.  The slope of one piece is the rate of that step; the slope of the thin straight line
    from start to end is the long-term benefit rate.

    Parameters
    ----------
    frame
        Columns trajectory, group (a name), step, supply, demand: one row per step.
    unit
        What is counted.

    Returns
    -------
    Figure
        Its data are the cumulative values at every corner of a path.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty, or there are more groups than styles.
    """
    frame = require(frame, ["trajectory", "group", "step", "supply", "demand"], "frame")
    names = list(dict.fromkeys(frame["trajectory"]))
    groups = [str(group) for group in dict.fromkeys(frame["group"])]
    corners = pd.concat(
        [_corners(rows) for _, rows in frame.groupby(["trajectory", "group"], sort=False)],
        ignore_index=True,
    )
    figure, panels = canvas(
        1.0 + 3.2 * len(names), 3.6, columns=len(names), sharex=True, sharey=True
    )
    with styled():
        for axes, name in zip(panels, names, strict=True):
            _paths(axes, corners[corners["trajectory"] == name], groups)
            axes.set_xlabel(f"cumulative demand ({unit})")
            axes.text(0.05, 0.9, f"trajectory {name}", transform=axes.transAxes, weight="bold")
        panels[0].set_ylabel(f"cumulative supply ({unit})")
        legend(figure)
    return Figure(figure, _describe(corners, names, groups, unit), corners)


def _corners(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.sort_values("step")
    return pd.DataFrame(
        {
            "trajectory": rows["trajectory"].iloc[0],
            "group": rows["group"].iloc[0],
            "step": np.arange(len(rows) + 1),
            "cumulative_supply": np.concatenate([[0.0], rows["supply"].cumsum()]),
            "cumulative_demand": np.concatenate([[0.0], rows["demand"].cumsum()]),
        }
    )


def _paths(axes: Axes, corners: pd.DataFrame, groups: Sequence[str]) -> None:
    for index, group in enumerate(groups):
        style = group_style(index, f"{group}, step by step")
        path = corners[corners["group"] == group]
        across, up = path["cumulative_demand"], path["cumulative_supply"]
        axes.plot(across, up, clip_on=False, zorder=3, **style.curve)
        axes.plot(
            [0.0, across.iloc[-1]],
            [0.0, up.iloc[-1]],
            color=style.colour,
            lw=5,
            alpha=0.25,
            label=f"{group}, long-term rate",
        )
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)


def _describe(corners: pd.DataFrame, names: Sequence[str], groups: Sequence[str], unit: str) -> str:
    parts = [
        f"Paths of cumulative supply over cumulative demand, in {unit}, "
        f"{len(names)} trajectories side by side."
    ]
    for name in names:
        clauses = []
        for group in groups:
            path = corners[(corners["trajectory"] == name) & (corners["group"] == group)]
            points = ", ".join(
                f"({number(row['cumulative_demand'])}, {number(row['cumulative_supply'])})"
                for _, row in path.iterrows()
            )
            rate = path["cumulative_supply"].iloc[-1] / path["cumulative_demand"].iloc[-1]
            clauses.append(f"{group} passes {points}, long-term rate {number(rate)}")
        parts.append(f"Trajectory {name}: {'; '.join(clauses)}.")
    return " ".join(parts)
