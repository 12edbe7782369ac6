"""Benefit rates, bias and gradients against hand arithmetic, test vectors and properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from longfair.errors import UsageError
from longfair.metrics.benefit import (
    benefit_rate,
    bias,
    bias_gradient,
    cumulative,
    long_term_benefit_rate,
    soft_bias,
    soft_bias_gradient,
    squared_bias_gradient,
)

RATES = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
SUPPLY, DEMAND = np.array([5.0, 6.0]), np.array([10.0, 20.0])

rates_of_groups = hnp.arrays(
    np.float64, st.integers(2, 8), elements=st.floats(0.0, 50.0, allow_subnormal=False)
)
sharpness = st.floats(0.05, 500.0)


def test_ratio_is_taken_after_the_sum() -> None:
    supply = np.array([[0, 0], [100, 1]])
    demand = np.array([[1, 100], [100, 1]])
    np.testing.assert_allclose(
        long_term_benefit_rate(supply, demand, axis=0), [100 / 101, 1 / 101], rtol=1e-15
    )


def test_pooling_episodes_gives_a_ratio_of_means() -> None:
    supply = np.array([[[1.0, 0.0]], [[9.0, 5.0]]])  # (episodes, time, groups)
    demand = np.array([[[1.0, 5.0]], [[19.0, 5.0]]])
    pooled = long_term_benefit_rate(supply, demand, axis=(1, 0))
    np.testing.assert_allclose(pooled, [0.5, 0.5])
    per_episode = long_term_benefit_rate(supply, demand, axis=1)
    assert per_episode.shape == (2, 2)
    np.testing.assert_allclose(per_episode[:, 0], [1.0, 9 / 19])


def test_published_evaluation_adds_one_per_episode() -> None:
    supply = np.full((3, 10, 2), 0.5)
    demand = np.ones((3, 10, 2))
    rates = long_term_benefit_rate(supply, demand, axis=(1, 0), offset=3)
    np.testing.assert_allclose(rates, 15 / 33)


def test_discount_acts_on_the_time_axis_only() -> None:
    signal = np.ones((4, 3, 2))  # (episodes, time, groups)
    np.testing.assert_allclose(cumulative(signal, axis=(1, 0), discount=0.5), 4 * (1 + 0.5 + 0.25))
    np.testing.assert_allclose(cumulative(signal, axis=-2, discount=0.5), np.full((4, 2), 1.75))


def test_discount_can_turn_a_rate() -> None:
    supply, demand = [[1.0], [0.0]], [[1.0], [1.0]]
    assert long_term_benefit_rate(supply, demand, axis=0, discount=0.5) == pytest.approx(2 / 3)


def test_horizon_one_is_the_static_rate() -> None:
    rates = long_term_benefit_rate([SUPPLY], [DEMAND], axis=0)
    np.testing.assert_array_equal(rates, SUPPLY / DEMAND)


def test_no_demand_is_an_error_unless_named() -> None:
    with pytest.raises(UsageError, match="1 of 2 rates have no demand; pass no_demand"):
        benefit_rate([0.0, 1.0], [0.0, 2.0])
    np.testing.assert_array_equal(benefit_rate([0.0, 1.0], [0.0, 2.0], no_demand=0.0), [0.0, 0.5])
    np.testing.assert_array_equal(benefit_rate([0.0, 1.0], [0.0, 1.0], offset=1.0), [0.0, 0.5])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"axis": 2}, "axis 2 does not fit an array of 2 axes; use -2 to 1"),
        ({"axis": (0, -2)}, "names the same axis twice"),
        ({"axis": 0, "discount": 0.0}, r"discount=0.0: give a finite number in \(0, 1\]"),
        ({"axis": "time"}, "axis='time': give an integer or a sequence"),
        ({"axis": (0, 1.5)}, r"axis=\(0, 1.5\): give an integer"),
        ({"axis": 0, "discount": "one"}, "discount='one': give a finite number in"),
        ({"axis": 0, "offset": -1.0}, "offset=-1.0: give a finite number of at least 0"),
    ],
)
def test_bad_settings_are_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        long_term_benefit_rate(np.ones((3, 2)), np.ones((3, 2)), **keywords)


@pytest.mark.parametrize(
    ("supply", "demand", "message"),
    [
        ([[1.0, np.nan]], [[1.0, 1.0]], "supply must be finite; 1 of its 2 values"),
        ([[1.0, 1.0]], [[1.0, -1.0]], "demand must not be negative; its smallest value is -1"),
        ([[1.0, 1.0]], [[1.0]], "supply and demand must have the same shape"),
        ([["a", "b"]], [[1.0, 1.0]], "supply must be an array of numbers"),
    ],
)
def test_bad_arrays_are_named(supply: Any, demand: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        long_term_benefit_rate(supply, demand, axis=0)


def test_bias_of_one_vector_and_of_a_batch() -> None:
    assert bias(RATES) == pytest.approx(0.4)
    np.testing.assert_allclose(bias([RATES, 2 * RATES]), [0.4, 0.8])
    assert bias([0.3]) == 0.0


def test_bias_gradient_and_its_rule_at_ties() -> None:
    np.testing.assert_array_equal(bias_gradient(RATES), [1, 0, 0, 0, -1])
    np.testing.assert_array_equal(bias_gradient([0.2, 0.7]), [-1, 1])
    np.testing.assert_array_equal(bias_gradient([0.7, 0.2]), [1, -1])
    np.testing.assert_array_equal(bias_gradient([0.5, 0.5]), [-1, 1])
    np.testing.assert_array_equal(bias_gradient([1.0, 1.0, 0.0, 0.0]), [0, 1, -1, 0])
    np.testing.assert_array_equal(bias_gradient([0.3]), [0])
    batch = bias_gradient([[0.2, 0.7], [0.7, 0.2]])
    np.testing.assert_array_equal(batch, [[-1, 1], [1, -1]])


@pytest.mark.parametrize(("beta", "expected"), [(1, 3.238833), (20, 0.414537), (100, 0.400001)])
def test_soft_bias_vectors(beta: float, expected: float) -> None:
    assert soft_bias(RATES, beta) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("beta", "first", "second"), [(20, 0.864414, 0.114882), (1, 0.079735, 0.039669)]
)
def test_soft_bias_gradient_vectors(beta: float, first: float, second: float) -> None:
    np.testing.assert_allclose(
        soft_bias_gradient(RATES, beta), [first, second, 0.0, -second, -first], atol=5e-7
    )


def test_soft_bias_has_a_floor_at_equal_rates() -> None:
    for groups, beta in ((5, 20.0), (5, 1.0), (2, 100.0)):
        equal = np.full(groups, 0.37)
        assert soft_bias(equal, beta) == pytest.approx(2 * math.log(groups) / beta)
        np.testing.assert_allclose(soft_bias_gradient(equal, beta), 0.0, atol=1e-15)


def test_soft_bias_survives_large_arguments() -> None:
    assert soft_bias([0.0, 1.0], 1e6) == pytest.approx(1.0)
    np.testing.assert_allclose(soft_bias_gradient([0.0, 1.0], 1e6), [-1.0, 1.0])


@given(rates_of_groups, sharpness)
def test_soft_bias_lies_between_its_bounds(rates: np.ndarray, beta: float) -> None:
    slack = 1e-12 * (1 + np.abs(rates).max() + 1 / beta)
    exact, smooth = bias(rates), soft_bias(rates, beta)
    assert exact - slack <= smooth <= exact + 2 * math.log(rates.size) / beta + slack


@given(rates_of_groups, sharpness, st.floats(-20.0, 20.0))
def test_soft_bias_ignores_a_common_shift(rates: np.ndarray, beta: float, shift: float) -> None:
    assert soft_bias(rates + shift, beta) == pytest.approx(
        float(soft_bias(rates, beta)), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("beta", [1.0, 20.0])
def test_soft_bias_gradient_is_the_derivative(beta: float) -> None:
    step = 1e-6
    numeric = [
        (soft_bias(RATES + step * unit, beta) - soft_bias(RATES - step * unit, beta)) / (2 * step)
        for unit in np.eye(RATES.size)
    ]
    np.testing.assert_allclose(soft_bias_gradient(RATES, beta), numeric, atol=1e-8)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, "steep", None])
def test_bad_sharpness_is_named(beta: Any) -> None:
    with pytest.raises(UsageError, match=f"beta={beta!r}: give a finite number above 0"):
        soft_bias(RATES, beta)


@pytest.mark.parametrize("rates", [[], 0.5, [0.1, np.inf]])
def test_bad_rates_are_named(rates: Any) -> None:
    with pytest.raises(UsageError, match="rates"):
        bias(rates)


def test_fair_advantage_vector() -> None:
    weights = squared_bias_gradient(SUPPLY, DEMAND)
    advantage = 1.0 - 3.0 * (weights.supply @ [1.0, -1.0] + weights.demand @ [1.0, 1.0])
    assert advantage == pytest.approx(0.862)


@pytest.mark.parametrize("beta", [None, 20.0])
def test_squared_bias_gradient_is_the_derivative(beta: float | None) -> None:
    def squared(supply: np.ndarray, demand: np.ndarray) -> float:
        rates = supply / demand
        return float(bias(rates) if beta is None else soft_bias(rates, beta)) ** 2

    step = 1e-5
    weights = squared_bias_gradient(SUPPLY, DEMAND, beta=beta)
    for group, unit in enumerate(np.eye(2)):
        move = step * unit
        by_supply = squared(SUPPLY + move, DEMAND) - squared(SUPPLY - move, DEMAND)
        by_demand = squared(SUPPLY, DEMAND + move) - squared(SUPPLY, DEMAND - move)
        assert weights.supply[group] == pytest.approx(by_supply / (2 * step), abs=1e-9)
        assert weights.demand[group] == pytest.approx(by_demand / (2 * step), abs=1e-9)


def test_squared_bias_gradient_of_a_batch_is_the_rows_own() -> None:
    supply, demand = np.array([SUPPLY, [6.0, 2.0]]), np.array([DEMAND, [9.0, 7.0]])
    batch = squared_bias_gradient(supply, demand, beta=5.0)
    for row in range(2):
        alone = squared_bias_gradient(supply[row], demand[row], beta=5.0)
        np.testing.assert_allclose(batch.supply[row], alone.supply)
        np.testing.assert_allclose(batch.demand[row], alone.demand)


def test_exact_squared_bias_is_flat_at_equal_rates_and_the_soft_one_too() -> None:
    for beta in (None, 20.0):
        weights = squared_bias_gradient([2.0, 4.0], [4.0, 8.0], beta=beta)
        np.testing.assert_allclose(weights.supply, 0.0, atol=1e-15)
        np.testing.assert_allclose(weights.demand, 0.0, atol=1e-15)


def test_a_group_without_demand_stops_the_gradient() -> None:
    with pytest.raises(UsageError, match="no demand"):
        squared_bias_gradient([0.0, 1.0], [0.0, 2.0])
