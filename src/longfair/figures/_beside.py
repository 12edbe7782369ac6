"""Names beside points, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from longfair.figures.style import GREY, PIXELS_PER_INCH

_COVERED, _CROSSED = 4, 8
"""What a pixel costs that words cover, and one that their line does; one away costs 0.5."""

_AROUND = (6.0, 4.0)
"""Pixels that words stay away from others, across and up, taken together from both sides."""

_DIRECTIONS = (
    *((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)),
    *((1, 0.5), (1, -0.5), (-1, 0.5), (-1, -0.5), (0.5, 1), (0.5, -1), (-0.5, 1), (-0.5, -1)),
)


def write_beside(
    axes: Axes,
    name: str,
    point: tuple[float, float],
    taken: Sequence[np.ndarray],
    size: float = 9.5,
) -> list[np.ndarray]:
    """Write a name near a point: of many places around it, where it covers least.

    A line leads from the name to the point, and covers something, too.

    Parameters
    ----------
    axes
        The panel, with its place fixed.
    name, point
        What is written, and beside what.
    taken
        Rectangles (left, bottom, right, top) that are covered, in pixels.
    size
        Of the letters, in points.

    Returns
    -------
    list of array
        What is covered now: the rectangle of the name, and those along its line.
    """
    frame, origin = axes.get_window_extent(), axes.transData.transform(point)
    words = _size(axes, name, size)
    places = _inside(_places(origin, words), frame.x0, frame.x1)
    middles = (places[:, :2] + places[:, 2:]) / 2
    ends = np.clip(origin, places[:, :2], places[:, 2:])
    lines = _leading(origin, ends)
    cost = np.zeros(len(places))
    for other in taken:
        cost += _COVERED * _shared(places, other) + _CROSSED * _shared(lines, other).sum(axis=1)
    cost += 20 * (_shared(places, places) - _shared(places, np.array(frame.extents)))
    best = int(np.argmin(cost + 0.5 * np.hypot(*(middles - origin).T)))
    leader = {"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 7}
    text = axes.annotate(
        name,
        xy=point,
        xytext=(middles[best] - origin) * 72 / PIXELS_PER_INCH,
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        arrowprops=leader | {"relpos": (ends[best] - places[best, :2]) / words},
        zorder=6,
    )
    text.set_in_layout(False)  # else the words would move the panel they were placed in
    return [places[best], *lines[best][lines[best][:, 2] > lines[best][:, 0]]]


def _places(origin: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return rectangles (K, 4) for words around a point, all in pixels.

    A rectangle is left, bottom, right, top. Its nearest edge lies where the place is.
    """
    reaches = (10, 16, 24, 36, 50, 70, 95)
    away = np.array([np.multiply(way, reach) for reach in reaches for way in _DIRECTIONS])
    corners = origin + away + size / 2 * (np.sign(away) - 1)
    return np.hstack([corners, corners + size])


def _size(axes: Axes, name: str, size: float) -> np.ndarray:
    """Return width and height of words in pixels, with a little room around them."""
    text = axes.text(0, 0, name, fontsize=size)
    box = text.get_window_extent()
    text.remove()
    return np.array([box.width, box.height]) + _AROUND


def _inside(places: np.ndarray, left: float, right: float) -> np.ndarray:
    """Move rectangles (K, 4) across as little as possible, so that they lie inside a panel."""
    moved = np.maximum(left - places[:, 0], 0.0) - np.maximum(places[:, 2] - right, 0.0)
    inside: np.ndarray = places + np.multiply.outer(moved, [1.0, 0.0, 1.0, 0.0])
    return inside


def _leading(origin: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return small rectangles (K, S, 4) along the lines from a point to words, in pixels.

    Those as near to the point as its mark have no area.
    """
    along = np.linspace(0.0, 1.0, 25)[:, None]
    spots = origin + along * (ends - origin)[:, None]
    half = 2.0 * (np.hypot(*np.moveaxis(spots - origin, -1, 0)) > 10)[..., None]
    return np.concatenate([spots - half, spots + half], axis=-1)


def _shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the areas (K,) that rectangles (K, 4) share with others, or with one of them."""
    low = np.maximum(first[..., :2], second[..., :2])
    high = np.minimum(first[..., 2:], second[..., 2:])
    areas: np.ndarray = np.maximum(high - low, 0.0).prod(axis=-1)
    return areas
