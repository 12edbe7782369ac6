"""The end of a smoothed curve, against sums by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longfair.runs.smoothing import Smoothing


def weights() -> tuple[float, float, float]:
    """Weights of a Gaussian of deviation one half at the distances 0, 1 and 2, where it ends."""
    raw = [math.exp(-2.0 * distance**2) for distance in range(3)]
    total = raw[0] + 2.0 * (raw[1] + raw[2])
    return raw[0] / total, raw[1] / total, raw[2] / total


def test_one_filter_by_hand() -> None:
    """Beyond its end the curve 1, 2, 4 goes on with 4, 2."""
    at, next_to, far = weights()
    expected = at * 4.0 + next_to * (2.0 + 4.0) + far * (1.0 + 2.0)
    assert Smoothing(0.5).end([1.0, 2.0, 4.0]) == pytest.approx(expected, abs=1e-15)


def test_two_filters_by_hand() -> None:
    """The first makes three points, of which the second makes the end."""
    at, next_to, far = weights()
    first = at * 1.0 + next_to * (1.0 + 2.0) + far * (2.0 + 4.0)
    middle = at * 2.0 + next_to * (1.0 + 4.0) + far * (1.0 + 4.0)
    last = at * 4.0 + next_to * (2.0 + 4.0) + far * (1.0 + 2.0)
    expected = at * last + next_to * (middle + last) + far * (first + middle)
    assert Smoothing(0.5, 2).end([1.0, 2.0, 4.0]) == pytest.approx(expected, abs=1e-15)


def test_a_level_stays() -> None:
    assert Smoothing(5.0, 2).end(np.full(3, 0.25)) == pytest.approx(0.25)


@pytest.mark.parametrize(("last", "share"), [(5, 0.50), (12, 0.90), (19, 0.99)])
def test_how_much_the_last_evaluations_weigh(last: int, share: float) -> None:
    """Two filters of five evaluations are about one of seven, folded at the end of the curve."""
    curve = np.zeros(100)
    curve[-last:] = 1.0
    assert Smoothing(5.0, 2).end(curve) == pytest.approx(share, abs=0.02)
