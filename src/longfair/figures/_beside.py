"""Names beside points, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from longfair.figures.style import GREY, PIXELS_PER_INCH

_COVERED, _CROSSED = 4, 8
"""What a pixel costs that words cover, and one that their line does; one away costs 0.5."""

_ROUNDS = 5
"""How often all names are placed at most."""

_AROUND = (6.0, 4.0)
"""Pixels that words stay away from others, across and up, taken together from both sides."""

_DIRECTIONS = (
    *((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)),
    *((1, 0.5), (1, -0.5), (-1, 0.5), (-1, -0.5), (0.5, 1), (0.5, -1), (-0.5, 1), (-0.5, -1)),
)


def write_beside(
    axes: Axes,
    named: Sequence[tuple[str, tuple[float, float]]],
    taken: Sequence[np.ndarray],
    size: float = 9.5,
) -> None:
    """Write names near points: of many places around each, where it covers least.

    A line leads from a name to its point, and covers something, too. All are placed one after
    another, and then again with the others where they are, until none moves.

    Parameters
    ----------
    axes
        The panel, with its place fixed.
    named
        What is written, and beside what.
    taken
        Rectangles (left, bottom, right, top) that are covered, in pixels.
    size
        Of the letters, in points.
    """
    sizes = [_size(axes, name, size) for name, _ in named]
    chosen: dict[int, _Chosen] = {}
    for _ in range(_ROUNDS):
        before = [one.place for one in chosen.values()]
        for number, (_, point) in enumerate(named):
            chosen.pop(number, None)
            covered = [*taken, *(part for one in chosen.values() for part in one.covered)]
            chosen[number] = _least_covering(axes, sizes[number], point, covered)
        if [one.place for one in chosen.values()] == before:
            break
    for (name, point), one in zip(named, chosen.values(), strict=True):
        _write(axes, name, point, one, size)


class _Chosen(NamedTuple):
    """Where a name stands."""

    place: int
    """Which of the places around its point."""
    middle: np.ndarray
    """(2,): of the words, as seen from the point, in pixels."""
    start: np.ndarray
    """(2,): where its line begins, in parts of the words' width and height."""
    covered: list[np.ndarray]
    """Rectangles of the words and along their line."""


def _least_covering(
    axes: Axes, words: np.ndarray, point: tuple[float, float], taken: Sequence[np.ndarray]
) -> _Chosen:
    """Choose the place for words (width, height) that covers least of what is taken."""
    frame, origin = axes.get_window_extent(), axes.transData.transform(point)
    places = _inside(_places(origin, words), frame.x0, frame.x1)
    middles = (places[:, :2] + places[:, 2:]) / 2 - origin
    ends = np.clip(origin, places[:, :2], places[:, 2:])
    lines = _leading(origin, ends)
    cost = np.zeros(len(places))
    for other in taken:
        cost += _COVERED * _shared(places, other) + _CROSSED * _shared(lines, other).sum(axis=1)
    cost += 20 * (_shared(places, places) - _shared(places, np.array(frame.extents)))
    best = int(np.argmin(cost + 0.5 * np.hypot(*middles.T)))
    line = lines[best][lines[best][:, 2] > lines[best][:, 0]]
    start = (ends[best] - places[best, :2]) / words
    return _Chosen(best, middles[best], start, [places[best], *line])


def _write(axes: Axes, name: str, point: tuple[float, float], chosen: _Chosen, size: float) -> None:
    """Write a name where it was chosen to stand, with a line to its point."""
    leader = {"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 7}
    across, up = chosen.middle * 72 / PIXELS_PER_INCH
    text = axes.annotate(
        name,
        xy=point,
        xytext=(float(across), float(up)),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        arrowprops=leader | {"relpos": chosen.start},
        zorder=6,
    )
    text.set_in_layout(False)  # else the words would move the panel they were placed in


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
