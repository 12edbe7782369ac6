"""The two trajectories of the paper's Section 2.3, and what each notion says of them."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.errors import UsageError
from longfair.metrics.aggregation import (
    signed_gap_sum,
    squared_gap_sum,
    step_gaps,
    two_trajectories,
)
from longfair.metrics.benefit import bias, long_term_benefit_rate


def test_the_papers_numbers() -> None:
    first, second = two_trajectories()
    assert signed_gap_sum(first.supply, first.demand) == 0.0
    assert signed_gap_sum(second.supply, second.demand) == pytest.approx(0.99, abs=1e-15)
    assert squared_gap_sum(first.supply, first.demand) == 0.0
    assert squared_gap_sum(second.supply, second.demand) == pytest.approx(1.0001, abs=1e-15)
    for trajectory in (first, second):
        rates = long_term_benefit_rate(trajectory.supply, trajectory.demand, axis=0)
        assert bias(rates) == pytest.approx(99 / 101, abs=1e-15)


@pytest.mark.parametrize("crowd", [1, 2, 5, 100, 1000])
def test_the_two_trajectories_differ_only_in_who_of_red_is_approved(crowd: int) -> None:
    first, second = two_trajectories(crowd)
    assert first.demand == second.demand == ((1, crowd), (crowd, 1))
    np.testing.assert_array_equal(np.sum(first.supply, axis=0), np.sum(second.supply, axis=0))
    np.testing.assert_array_equal(np.array(first.supply)[:, 0], np.array(second.supply)[:, 0])
    assert first.supply != second.supply


@pytest.mark.parametrize("crowd", [2, 5, 100])
def test_closed_forms_in_the_size_of_the_crowd(crowd: int) -> None:
    first, second = two_trajectories(crowd)
    assert signed_gap_sum(first.supply, first.demand) == 0.0
    assert signed_gap_sum(second.supply, second.demand) == pytest.approx(1 - 1 / crowd)
    assert squared_gap_sum(second.supply, second.demand) == pytest.approx(1 + 1 / crowd**2)


def test_gaps_have_a_sign_and_a_batch_keeps_its_axes() -> None:
    supply = np.array([[[1, 0], [0, 1]], [[1, 1], [0, 0]]])
    demand = np.ones((2, 2, 2))
    np.testing.assert_array_equal(step_gaps(supply, demand), [[1, -1], [0, 0]])
    np.testing.assert_array_equal(signed_gap_sum(supply, demand), [0, 0])
    np.testing.assert_array_equal(squared_gap_sum(supply, demand), [2, 0])


def test_a_step_without_demand_must_be_given_a_rate() -> None:
    with pytest.raises(UsageError, match="no demand"):
        step_gaps([[0, 1]], [[0, 1]])
    assert step_gaps([[0, 1]], [[0, 1]], no_demand=0.0) == pytest.approx(-1.0)


def test_bad_input_is_named() -> None:
    for crowd in (0, 1.5):
        with pytest.raises(UsageError, match=rf"crowd={crowd}: give an integer of at least 1"):
            two_trajectories(crowd)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UsageError, match=r"axes \(time, 2 groups\); given \(2, 3\)"):
        signed_gap_sum(np.ones((2, 3)), np.ones((2, 3)))
