"""Names beside points, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from longfair.figures.style import GREY, PIXELS_PER_INCH

_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def write_beside(
    axes: Axes,
    name: str,
    point: tuple[float, float],
    taken: Sequence[np.ndarray],
    size: float = 9.5,
) -> np.ndarray:
    """Write a name near a point: of many places around it, where it covers least.

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
    array
        The rectangle of the name.
    """
    text = axes.annotate(
        name,
        xy=point,
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 5},
        zorder=6,
    )
    text.set_in_layout(False)  # else the words would move the panel they were placed in
    box = Text.get_window_extent(text)
    frame, origin = axes.get_window_extent(), axes.transData.transform(point)
    places = _places(origin, np.array([box.width, box.height]))
    middles = (places[:, :2] + places[:, 2:]) / 2
    cost = sum(_shared(places, other) for other in taken)
    cost = cost + 20 * (_shared(places, places) - _shared(places, np.array(frame.extents)))
    best = int(np.argmin(cost + 0.5 * np.hypot(*(middles - origin).T)))
    text.set_position((middles[best] - origin) * 72 / PIXELS_PER_INCH)
    written: np.ndarray = places[best]
    return written


def _places(origin: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return rectangles (K, 4) for words around a point, all in pixels.

    A rectangle is left, bottom, right, top. Its nearest edge lies where the place is.
    """
    reaches = (10, 16, 24, 36, 50, 70, 95)
    away = np.array([np.multiply(way, reach) for reach in reaches for way in _DIRECTIONS])
    corners = origin + away + size / 2 * (np.sign(away) - 1)
    return np.hstack([corners, corners + size])


def _shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the areas (K,) that rectangles (K, 4) share with others, or with one of them."""
    low = np.maximum(first[..., :2], second[..., :2])
    high = np.minimum(first[..., 2:], second[..., 2:])
    areas: np.ndarray = np.maximum(high - low, 0.0).prod(axis=-1)
    return areas
