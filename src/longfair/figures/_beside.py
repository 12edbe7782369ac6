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
    around = [_around(axes, _size(axes, name, size), point, taken) for name, point in named]
    chosen: dict[int, int] = {}
    for _ in range(_ROUNDS):
        before = dict(chosen)
        for number, spots in enumerate(around):
            others = (around[one].covered(at) for one, at in chosen.items() if one != number)
            cost = spots.cost + spots.covering([part for one in others for part in one])
            chosen[number] = int(np.argmin(cost))
        if chosen == before:
            break
    for number, (name, point) in enumerate(named):
        _write(axes, name, point, around[number], chosen[number], size)


class _Around(NamedTuple):
    """The K places around a point for its name."""

    places: np.ndarray
    """(K, 4): rectangles of the words."""
    middles: np.ndarray
    """(K, 2): of the words, as seen from the point, in pixels."""
    starts: np.ndarray
    """(K, 2): where the line begins, in parts of the words' width and height."""
    lines: np.ndarray
    """(K, S, 4): small rectangles along the line."""
    cost: np.ndarray
    """(K,): of what is covered whatever the other names do, and of being away."""

    def covered(self, place: int) -> list[np.ndarray]:
        """Return the rectangles that words and line cover at one of the places."""
        line = self.lines[place]
        return [self.places[place], *line[line[:, 2] > line[:, 0]]]

    def covering(self, taken: Sequence[np.ndarray]) -> np.ndarray:
        """Return what covering rectangles costs at every place (K,)."""
        cost = np.zeros(len(self.places))
        for other in taken:
            cost += _COVERED * _shared(self.places, other)
            cost += _CROSSED * _shared(self.lines, other).sum(axis=1)
        return cost


def _around(
    axes: Axes, words: np.ndarray, point: tuple[float, float], taken: Sequence[np.ndarray]
) -> _Around:
    """Find the places for words (width, height) around a point, and what each costs."""
    frame, origin = axes.get_window_extent(), axes.transData.transform(point)
    places = _inside(_places(origin, words), frame.x0, frame.x1)
    middles = (places[:, :2] + places[:, 2:]) / 2 - origin
    ends = np.clip(origin, places[:, :2], places[:, 2:])
    outside = _shared(places, places) - _shared(places, np.array(frame.extents))
    away = 20 * outside + 0.5 * np.hypot(*middles.T)
    starts = (ends - places[:, :2]) / words
    found = _Around(places, middles, starts, _leading(origin, ends), away)
    return found._replace(cost=away + found.covering(taken))


def _write(
    axes: Axes, name: str, point: tuple[float, float], spots: _Around, place: int, size: float
) -> None:
    """Write a name at one of the places around its point, with a line to it."""
    leader = {"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 7}
    across, up = spots.middles[place] * 72 / PIXELS_PER_INCH
    text = axes.annotate(
        name,
        xy=point,
        xytext=(float(across), float(up)),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        arrowprops=leader | {"relpos": spots.starts[place]},
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
