"""Every run as a dot, a row for each method: what a verdict looks at, before it is a mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from longfair.figures._frames import require
from longfair.figures.display import Figure
from longfair.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PIXELS_PER_INCH,
    from_to,
    number,
    styled,
)

_WIDTH = 4.4
_EDGE = 0.1
_RIGHT = 0.3
_ROOM = _WIDTH - 2 * _EDGE
_NAMES = 1.75
"""Most of the width that names of methods take; longer ones are broken."""
_TITLE, _LABEL, _NAME = (11, "bold"), (10, "normal"), (10, "normal")
_LINE = 0.18
_ROW = 0.27
_GAP = 0.14
_TICKS = 0.28
_PANEL = ["title", "label"]
_KEYS = [*_PANEL, "method"]


class _Place(NamedTuple):
    """Where a panel stands, in inches from the top, and what is written around it."""

    key: tuple[str, str]
    title: str
    """In lines; empty where it is that of the panel above."""
    label: str
    rows: list[str]
    top: float
    axes: float
    height: float


def run_strips(
    runs: pd.DataFrame,
    means: pd.DataFrame,
    *,
    claimed: pd.DataFrame | None = None,
    judged: Collection[str] = (),
) -> Figure:
    """Draw the runs of methods, with the mean of each, a panel for each number below each other.

    Small and quick to draw, because a book has hundreds of them; on a phone a little smaller.

    Parameters
    ----------
    runs
        Columns title (what stands above a panel), label (what is on its axis), method, seed and
        value.
    means
        Columns title, label, method, mean, low and high; the ends are missing where there is no
        interval, the mean where it says nothing. Its panels are drawn in this order; a row of it
        need not have runs. A column kinds may say how many runs are of each of two kinds, as in
        "2 and 8 runs": then the median stands in the place of the mean. Else it is empty.
    claimed
        Columns title, label, method, low, high and words: what is asked for in a row, shaded from
        one end to the other, which may be infinite.
    judged
        The methods that are judged; they have a colour of their own.

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
    require(means.fillna({"mean": 0.0}), [*_KEYS, "mean"], "means")
    bands = pd.DataFrame(columns=[*_KEYS, "low", "high", "words"]) if claimed is None else claimed
    parts = _by_panel(means)
    dots, asked_of = (_by_panel(one) for one in (runs, bands))
    left, names = _names(means["method"])
    places, row = list(_places(parts, asked_of, names)), _row(names.values())
    height = places[-1].top + places[-1].height
    with styled():
        drawing = Drawing(figsize=(_WIDTH, height), dpi=PIXELS_PER_INCH)
        said = []
        for place in places:
            own, asked = dots.get(place.key, runs[:0]), asked_of.get(place.key, bands[:0])
            deep = row * len(place.rows)
            box = (left, height - place.axes - deep, _WIDTH - left - _RIGHT, deep)
            axes = drawing.add_axes(_share(box, _WIDTH, height))
            said.append(_panel(axes, place, own, parts[place.key], asked, judged))
            axes.set_yticks(range(len(place.rows)), [names[method] for method in place.rows])
            _write(drawing, place, height, box)
    what = (
        "Strip plots, a dot for every run and a bar for the mean of each method with its interval"
    )
    if any(means.get("kinds", ())):
        what += ", or for the median where runs are of two kinds"
    return Figure(drawing, f"{what}. {' '.join(said)}", runs)


# Layout -----------------------------------------------------------------------------------------


@cache
def width(text: str, size: float, weight: str) -> float:
    """Return the width of a text in inches.

    Parameters
    ----------
    text
        One line.
    size, weight
        Of its letters.
    """
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


@cache
def _broken(text: str, room: float, font: tuple[float, str]) -> str:
    """Break a text so that no line is wider than so many inches.

    It is broken after spaces, and after hyphens inside of words: never after a minus sign.
    """
    lines = [""]
    for piece in re.split(r"(?<= )|(?<=\w-)(?=\w)", text):
        if lines[-1] and width((lines[-1] + piece).rstrip(), *font) > room:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _names(methods: pd.Series[str]) -> tuple[float, dict[str, str]]:
    """Return the room for names of methods, and the names in lines."""
    names = {method: _broken(method, _NAMES, _NAME) for method in methods.unique()}
    widest = max(width(line, *_NAME) for name in names.values() for line in name.split("\n"))
    return _EDGE + widest + 0.09, names


def _row(names: Collection[str]) -> float:
    """Height of a row."""
    return max(_ROW, 0.06 + 0.17 * max(map(_lines, names)))


def _places(
    parts: dict[Any, pd.DataFrame], bands: dict[Any, pd.DataFrame], names: dict[str, str]
) -> Iterator[_Place]:
    top, row, above = 0.0, _row(names.values()), ""
    for (title, label), own in parts.items():
        words = bands[title, label]["words"].unique() if (title, label) in bands else ()
        asked = {0: "", 1: "".join(words)}.get(len(words), "shaded: what is asked of each")
        said = "" if title == above else _broken(title, _ROOM, _TITLE)
        told = _broken("; ".join(filter(None, (label, asked, _medians(own)))), _ROOM, _LABEL)
        rows = list(dict.fromkeys(own["method"]))
        axes = _GAP + (_lines(said) * _LINE + 0.05 if said else 0)
        height = axes + row * len(rows) + _TICKS + _lines(told) * _LINE
        yield _Place((title, label), said, told, rows, top, top + axes, height)
        top, above = top + height, title


def _medians(means: pd.DataFrame) -> str:
    """Say which bars of a panel are medians, and how many runs are of each kind."""
    parts = zip(means["method"], means.get("kinds", [""] * len(means)), strict=True)
    told = [f"{method}, {kinds}" for method, kinds in parts if kinds]
    return f"median where runs are of two kinds: {', '.join(told)}" if told else ""


def _by_panel(table: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    """Part a table by title and label, in the order in which they first come."""
    return dict(iter(table.groupby(_PANEL, sort=False)))


def _share(
    box: tuple[float, float, float, float], width: float, height: float
) -> tuple[float, float, float, float]:
    """Turn inches into parts of the drawing."""
    return box[0] / width, box[1] / height, box[2] / width, box[3] / height


def _write(
    drawing: Drawing, place: _Place, height: float, box: tuple[float, float, float, float]
) -> None:
    """Write title and label, the label below the panel's middle as far as the drawing goes."""
    across = _EDGE / _WIDTH
    if place.title:
        down = 1 - (place.top + _GAP) / height
        drawing.text(across, down, place.title, va="top", size=_TITLE[0], weight=_TITLE[1])
    half = max(width(line, *_LABEL) for line in place.label.split("\n")) / 2
    middle = min(max(box[0] + box[2] / 2, _EDGE + half), _WIDTH - _EDGE - half)
    down = (box[1] - _TICKS + 0.02) / height
    drawing.text(middle / _WIDTH, down, place.label, ha="center", va="top", size=_LABEL[0])


# Marks ------------------------------------------------------------------------------------------


def _panel(
    axes: Axes,
    place: _Place,
    runs: pd.DataFrame,
    means: pd.DataFrame,
    bands: pd.DataFrame,
    judged: Collection[str],
) -> str:
    """Draw the runs of a panel; return its words."""
    averages: dict[str, Any] = {str(one["method"]): one for _, one in means.iterrows()}
    cut = _cut(runs["value"], means["mean"], bands["low"], bands["high"])
    said = []
    for row, method in enumerate(place.rows):
        values = runs.loc[runs["method"] == method, "value"].to_numpy(dtype=float)
        axes.plot(
            values,
            row + _beside_each_other(len(values)),
            linestyle="none",
            marker="o",
            markersize=4.5,
            markeredgewidth=0,
            color=BLUE if method in judged else GREY,
            alpha=0.55,
        )
        asked = [f"({words})" for words in bands.loc[bands["method"] == method, "words"]]
        parts = (_mean(axes, row, averages[method], len(values), cut), _ends(values))
        said.append(" ".join([f"{method}: {', '.join(filter(None, parts))}", *asked]))
    axes.set_ylim(len(place.rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.04)
    _shade(axes, place.rows, bands)
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.locator_params(axis="x", nbins=4)
    return f"{place.key[0]}, {place.key[1]}: {'; '.join(said)}."


def _shade(axes: Axes, rows: Sequence[str], bands: pd.DataFrame) -> None:
    """Shade what is asked for in each row, with a line at every end that it has."""
    ends = zip(bands["method"], bands["low"], bands["high"], strict=True)
    where = [(rows.index(method), float(low), float(high)) for method, low, high in ends]
    for row, low, high in where:
        for end in {low, high} - {-np.inf, np.inf}:
            axes.plot([end, end], [row - 0.5, row + 0.5], color=GREEN, lw=1.2, ls=(0, (3, 1.5)))
    first, last = axes.get_xlim()
    for row, low, high in where:
        inside = np.clip([low, high], first, last)
        axes.fill_betweenx([row - 0.5, row + 0.5], *inside, color=GREEN, alpha=0.15, lw=0, zorder=0)
    axes.set_xlim(first, last)


def _beside_each_other(count: int) -> np.ndarray:
    """Shift runs up and down in turn, so that equal ones do not hide each other."""
    return np.resize([0.0, -0.16, 0.16, -0.08, 0.08], count)


def _cut(*parts: pd.Series[float]) -> tuple[float, float]:
    """Return where intervals are cut: as far beyond runs, means and claims as these are apart.

    A wider one would leave the runs a single blot.
    """
    given = np.concatenate([part.to_numpy(dtype=float) for part in parts])
    known = given[np.isfinite(given)]
    span = float(np.ptp(known)) if known.size else 0.0
    return (known.min() - span, known.max() + span) if span > 0 else (-np.inf, np.inf)


def _mean(
    axes: Axes, place: int, row: pd.Series[float], runs: int, cut: tuple[float, float]
) -> str:
    """Draw a mean with its interval, which ends in an arrow where it is cut; return the words."""
    if pd.isna(row["mean"]):
        return ""
    kinds = row.get("kinds")
    word = f"median of two kinds, {kinds}, " if kinds else "mean " * (runs > 0)
    axes.plot([row["mean"]] * 2, [place - 0.36, place + 0.36], color=BLACK, lw=2.2)
    if pd.isna(row.get("low")) or pd.isna(row.get("high")):
        return f"{word}{number(row['mean'])}"
    ends = np.clip([row["low"], row["high"]], *cut)
    axes.plot(ends, [place, place], color=BLACK, lw=1.4)
    for end, whole, marker in zip(ends, (row["low"], row["high"]), "<>", strict=True):
        if end != whole:
            axes.plot(end, place, marker, color=BLACK, markersize=5)
    return f"{word}{number(row['mean'])} ({number(row['low'])} to {number(row['high'])})"


def _ends(values: np.ndarray) -> str:
    if not values.size:
        return ""
    runs = f"{len(values)} run{'s' * (len(values) > 1)}"
    if np.ptp(values) == 0:
        return f"{runs} at {number(float(values[0]))}"
    return f"{runs} {from_to(float(values.min()), float(values.max()))}"
