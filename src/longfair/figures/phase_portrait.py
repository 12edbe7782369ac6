"""Where states of the unit square go: streamlines over a shade, a panel for each policy."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.figures._frames import require
from longfair.figures._panels import scale, square_panels
from longfair.figures.display import Figure, drawing
from longfair.figures.style import BLACK, GREY, number, styled

COLUMNS = ("panel", "rate_0", "rate_1", "change_0", "change_1", "shade")

LEVELS = 9
"""Shades, as in the paper's figures."""

HUNDREDTHS = 0.3
"""Largest shade from which on hundredths tell the shades apart."""

TICKS = (0.1, 0.3, 0.5, 0.7, 0.9)


@drawing
def phase_portrait(flows: pd.DataFrame, *, shade: str, axes: str) -> Figure:
    """Draw one portrait per panel, all with the same shades.

    Parameters
    ----------
    flows
        Columns panel (its title), rate_0 and rate_1 (a state), change_0 and change_1 (by how much
        one step changes it), shade (a number of the state, at least 0). The states of a panel are a
        square grid.
    shade
        What the shade is, in lower case.
    axes
        What the axes are, with ``{}`` for the number of the group.

    Returns
    -------
    Figure
        Its data are the flows.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty, or the states of a panel are not a square grid.
    """
    flows = require(flows, list(COLUMNS), "flows")
    levels = np.linspace(0.0, max(float(flows["shade"].max()), 1e-6), LEVELS + 1)
    parts = [f"Phase portraits: streamlines of one step over {shade}."]
    with styled():
        panels = square_panels(flows, axes)
        for panel, title, own in panels.filled:
            filled = _portrait(panel, own, levels)
            parts.append(f"{title}: {_described(own, shade)}.")
        scale(panels, filled, shade, "%.2f" if levels[-1] >= HUNDREDTHS else "%.2g")
    return Figure(panels.drawing, " ".join(parts), flows)


def _portrait(panel: Axes, own: pd.DataFrame, levels: FloatArray) -> QuadContourSet:
    axis, (first, second, shade) = _grids(own)
    filled = panel.contourf(axis, axis, shade, levels=levels, cmap="Blues")
    panel.streamplot(axis, axis, first, second, color=BLACK, density=0.8, linewidth=0.8)
    panel.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.0)
    panel.set(xlim=(0, 1), ylim=(0, 1), xticks=TICKS, yticks=TICKS, aspect="equal")
    panel.grid(visible=False)
    return filled


def _grids(own: pd.DataFrame) -> tuple[FloatArray, list[FloatArray]]:
    """Return the rates (S,) along an axis, and changes and shade (S, S), group 1 downwards."""
    wide = [
        own.pivot_table(index="rate_1", columns="rate_0", values=name)
        for name in ("change_0", "change_1", "shade")
    ]
    across, down = wide[0].columns.to_numpy(float), wide[0].index.to_numpy(float)
    if across.shape != down.shape or not np.allclose(across, down) or len(own) != len(across) ** 2:
        raise UsageError(f"{len(own)} states are not a square grid; give every pair of rates once")
    # Streamlines need even distances to the last bit.
    even = np.linspace(across[0], across[-1], len(across))
    return even, [table.to_numpy(float) for table in wide]


def _described(own: pd.DataFrame, shade: str) -> str:
    moves = own[["change_0", "change_1"]].to_numpy(float)
    rise, fall = ((moves * sign > 0).all(axis=1).mean() for sign in (1, -1))
    return (
        f"both rates rise in {rise:.0%} of the states and fall in {fall:.0%}; the largest {shade} "
        f"is {number(float(own['shade'].max()))}"
    )
