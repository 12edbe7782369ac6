"""Every run as a dot, a row for each method: what a verdict looks at, before it is a mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from longfair.figures._frames import require
from longfair.figures.display import Figure
from longfair.figures.style import BLACK, BLUE, GREY, PIXELS_PER_INCH, number, styled

_WIDTH = 4.4
_LETTER = 0.078
_ROW = 0.27
_HEAD, _FOOT = 0.34, 0.58
_PANEL = ["title", "label"]
_KEYS = [*_PANEL, "method"]


def run_strips(runs: pd.DataFrame, means: pd.DataFrame, *, judged: str = "") -> Figure:
    """Draw the runs of methods, with the mean of each, a panel for each number below each other.

    Small and quick to draw, because a book has hundreds of them; on a phone a little smaller.

    Parameters
    ----------
    runs
        Columns title (what stands above a panel), label (what is on its axis), method, seed and
        value.
    means
        Columns title, label, method, mean, low and high; the ends are missing where there is no
        interval.
    judged
        The method that is judged; it has a colour of its own.

    Returns
    -------
    Figure
        Its data are the runs.

    Raises
    ------
    UsageError
        If a column is missing or a table is empty.
    """
    require(runs, [*_KEYS, "seed", "value"], "runs")
    require(means, [*_KEYS, "mean"], "means")
    parts: list[tuple[Any, pd.DataFrame]] = list(runs.groupby(_PANEL, sort=False))
    averages: dict[Any, pd.DataFrame] = {
        key: own.set_index("method") for key, own in means.groupby(_PANEL)
    }
    rows = [own["method"].nunique() for _, own in parts]
    heights = [_HEAD + _ROW * count + _FOOT for count in rows]
    left = 0.25 + _LETTER * max(len(str(method)) for method in runs["method"])
    with styled():
        drawing = Drawing(figsize=(_WIDTH, sum(heights)), dpi=PIXELS_PER_INCH)
        top = sum(heights)
        said = []
        for (panel, own), count, height in zip(parts, rows, heights, strict=True):
            box = (left, top - _HEAD - _ROW * count, _WIDTH - left - 0.2, _ROW * count)
            top -= height
            axes = drawing.add_axes(_share(box, _WIDTH, sum(heights)))
            said.append(_panel(axes, own, averages[panel], judged))
            axes.set(xlabel=panel[1])
            axes.set_title(str(panel[0]), loc="left", fontsize=11, weight="bold")
    what = (
        "Strip plots, a dot for every run and a bar for the mean of each method with its interval"
    )
    return Figure(drawing, f"{what}. {' '.join(said)}", runs)


def _share(
    box: tuple[float, float, float, float], width: float, height: float
) -> tuple[float, float, float, float]:
    """Turn inches into parts of the drawing."""
    return box[0] / width, box[1] / height, box[2] / width, box[3] / height


def _panel(axes: Axes, runs: pd.DataFrame, means: pd.DataFrame, judged: str) -> str:
    """Draw the runs of a panel; return its words."""
    methods = list(dict.fromkeys(runs["method"]))
    title, label = runs["title"].iloc[0], runs["label"].iloc[0]
    said = []
    for place, method in enumerate(methods):
        values = runs.loc[runs["method"] == method, "value"].to_numpy(dtype=float)
        colour = BLUE if method == judged else GREY
        axes.plot(
            values,
            place + _beside_each_other(len(values)),
            linestyle="none",
            marker="o",
            markersize=4.5,
            markeredgewidth=0,
            color=colour,
            alpha=0.55,
        )
        said.append(f"{method}: {_mean(axes, place, means.loc[method])}, {_ends(values)}")
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.04)
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.locator_params(axis="x", nbins=5)
    return f"{title}, {label}: {'; '.join(said)}."


def _beside_each_other(count: int) -> np.ndarray:
    """Shift runs up and down in turn, so that equal ones do not hide each other."""
    return np.resize([0.0, -0.16, 0.16, -0.08, 0.08], count)


def _mean(axes: Axes, place: int, row: pd.Series[float]) -> str:
    axes.plot([row["mean"]] * 2, [place - 0.36, place + 0.36], color=BLACK, lw=2.2)
    if pd.isna(row.get("low")) or pd.isna(row.get("high")):
        return f"mean {number(row['mean'])}"
    axes.plot([row["low"], row["high"]], [place, place], color=BLACK, lw=1.4)
    return f"mean {number(row['mean'])} ({number(row['low'])} to {number(row['high'])})"


def _ends(values: np.ndarray) -> str:
    runs = f"{len(values)} run{'s' * (len(values) > 1)}"
    if np.ptp(values) == 0:
        return f"{runs} at {number(float(values[0]))}"
    return f"{runs} from {number(float(values.min()))} to {number(float(values.max()))}"
