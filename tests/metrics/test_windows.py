"""Windowed quantities against a slow loop written for the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from longfair.errors import UsageError
from longfair.metrics.benefit import long_term_benefit_rate
from longfair.metrics.windows import (
    windowed_gap,
    windowed_rates,
    windowed_share_deviation,
    windowed_sum,
)

GENERATOR = np.random.default_rng(20240117)
DEMAND = GENERATOR.integers(0, 4, size=(60, 5, 2))  # (time, environments, groups)
SUPPLY = GENERATOR.integers(0, DEMAND + 1)


@pytest.mark.parametrize("window", [1, 2, 7, 60, 1000])
def test_windowed_sum_is_the_loop(window: int) -> None:
    loop = [SUPPLY[max(0, t + 1 - window) : t + 1].sum(axis=0) for t in range(len(SUPPLY))]
    assert_array_equal(windowed_sum(SUPPLY, window), loop)


def test_windowed_sum_leaves_its_input_alone_and_takes_any_axis() -> None:
    signal = np.arange(12.0).reshape(3, 4)
    before = signal.copy()
    assert_array_equal(windowed_sum(signal, 2, axis=1)[0], [0, 1, 3, 5])
    assert_array_equal(windowed_sum(signal, 2, axis=-1), windowed_sum(signal.T, 2).T)
    assert_array_equal(signal, before)


def test_a_window_longer_than_the_history_is_the_running_rate() -> None:
    running = windowed_rates(SUPPLY, DEMAND, len(SUPPLY))
    final = long_term_benefit_rate(SUPPLY, DEMAND, axis=0)
    assert_allclose(running[-1], final)


def test_an_empty_window_has_rate_zero() -> None:
    supply, demand = np.array([[0, 1], [1, 0]]), np.array([[0, 1], [1, 0]])
    assert_array_equal(windowed_rates(supply, demand, 1), [[0, 1], [1, 0]])
    assert_array_equal(windowed_gap(supply, demand, 1), [1, 1])
    assert_array_equal(windowed_gap(supply, demand, 2), [1, 0])


def test_windowed_gap_is_the_difference_of_the_windows_rates() -> None:
    window = 9
    gap = windowed_gap(SUPPLY, DEMAND, window)
    for time in (0, 8, 30, 59):
        held = slice(max(0, time + 1 - window), time + 1)
        served, asked = SUPPLY[held].sum(axis=0), DEMAND[held].sum(axis=0)
        rates = served / np.where(asked == 0, 1, asked)
        assert_allclose(gap[time], np.abs(rates[:, 0] - rates[:, 1]))


def test_short_term_gap_can_hide_and_can_exaggerate() -> None:
    supply = np.array([[1, 0], [0, 1]] * 10)
    demand = np.ones((20, 2))
    assert_array_equal(windowed_gap(supply, demand, 1), np.ones(20))
    assert windowed_gap(supply, demand, 20)[-1] == 0.0


def test_share_deviation() -> None:
    allocation = np.array([[6, 0, 0], [0, 6, 0], [0, 0, 6], [0, 0, 6]])
    assert_allclose(windowed_share_deviation(allocation, 3), [2 / 3, 1 / 3, 0, 1 / 3])
    assert_allclose(windowed_share_deviation(allocation, 1), np.full(4, 2 / 3))
    assert_array_equal(windowed_share_deviation(np.zeros((2, 3)), 1), [0, 0])


def test_bad_windows_are_named() -> None:
    windows: tuple[Any, ...] = (0, 2.5, "wide")
    for window in windows:
        with pytest.raises(UsageError, match=f"window={window!r}: give an integer of at least 1"):
            windowed_sum(SUPPLY, window)
    with pytest.raises(UsageError, match="the last axis, which holds the groups"):
        windowed_gap(SUPPLY, DEMAND, 3, axis=-1)
    for axis in (-1, 2):
        with pytest.raises(UsageError, match=f"axis {axis} is the last axis"):
            windowed_share_deviation(SUPPLY, 3, axis=axis)
    with pytest.raises(UsageError, match=r"one value per group on its last axis; given \(4, 0\)"):
        windowed_share_deviation(np.zeros((4, 0)), 3)
    with pytest.raises(UsageError, match="demand must not be negative"):
        windowed_rates(SUPPLY, -DEMAND - 1, 3)
