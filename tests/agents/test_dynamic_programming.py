"""Backward induction by hand, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from longfair.agents.dynamic_programming import backward_induction, policy_values
from longfair.errors import UsageError

# State 0: wait for 1 and stay, or go to state 1 for nothing. State 1: 3 a step, or 0, then 0 again.
TRANSITION = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
REWARD = np.array([[1.0, 0.0], [3.0, 0.0]])


def test_the_last_step_is_greedy_and_earlier_ones_look_ahead() -> None:
    solution = backward_induction(TRANSITION, REWARD, horizon=3)
    assert solution.values.tolist() == [[6.0, 9.0], [3.0, 6.0], [1.0, 3.0], [0.0, 0.0]]
    assert solution.actions.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert solution.action_values[1].tolist() == [[2.0, 3.0], [6.0, 1.0]]


def test_a_discount_makes_the_future_count_less() -> None:
    solution = backward_induction(TRANSITION, REWARD, horizon=2, discount=0.25)
    assert solution.values[0].tolist() == [1.25, 3.75]
    assert backward_induction(TRANSITION, REWARD, horizon=5, discount=0.0).values[0].max() == 3.0


def test_sparse_and_dense_arrays_mean_the_same() -> None:
    rows = TRANSITION.reshape(4, 2)
    solutions = [
        backward_induction(transition, REWARD, 4, 0.9).values
        for transition in (TRANSITION, rows, csr_array(rows))
    ]
    assert np.array_equal(solutions[0], solutions[1])
    assert np.array_equal(solutions[0], solutions[2])


def test_a_policy_is_worth_the_average_over_what_it_does() -> None:
    half = np.full((2, 2), 0.5)
    values = policy_values(TRANSITION, REWARD, half, horizon=2)
    assert values.tolist() == [[1.5, 2.5], [0.5, 1.5], [0.0, 0.0]]
    best = backward_induction(TRANSITION, REWARD, horizon=3)
    optimal = np.eye(2)[best.actions]
    np.testing.assert_array_equal(policy_values(TRANSITION, REWARD, optimal, 3), best.values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.zeros(4)}, r"reward has shape \(4,\)"),
        ({"reward": np.zeros((2, 3))}, r"transition has shape \(4, 2\): give \(2 \* 3, 2\)"),
        ({"transition": TRANSITION * 0.5}, "misses 1 by 0.5"),
        ({"transition": TRANSITION * 3 - 1}, "transition has an entry -1"),
        ({"horizon": 0}, "horizon=0"),
        ({"discount": 1.5}, "discount=1.5"),
    ],
)
def test_bad_problems_are_refused(changes: dict[str, Any], message: str) -> None:
    given = {"transition": TRANSITION, "reward": REWARD, "horizon": 2, **changes}
    with pytest.raises(UsageError, match=message):
        backward_induction(**given)
    with pytest.raises(UsageError, match=message):
        policy_values(**given, policy=np.full(given["reward"].shape, 0.5))


def test_a_policy_has_to_add_up() -> None:
    with pytest.raises(UsageError, match="policy has a row that misses 1"):
        policy_values(TRANSITION, REWARD, np.ones((2, 2)), 2)
