"""The step of constrained policy optimisation against a general solver, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from longfair.agents.cpo.trust_region import (
    Moved,
    Step,
    accepted,
    accepted_as_coded,
    backtracked,
    multipliers,
    solved,
    trust_region_step,
)

SIZE, RADIUS = 6, 0.01


def problem(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((SIZE, SIZE))
    matrix = root @ root.T + 0.5 * np.eye(SIZE)
    return matrix, rng.standard_normal(SIZE), rng.standard_normal(SIZE)


def step(matrix: Any, gradient: Any, cost_gradient: Any, excess: float) -> Step:
    return trust_region_step(
        gradient, cost_gradient, excess, lambda v: matrix @ v, RADIUS, 2 * SIZE
    )


def reach(matrix: Any, cost_gradient: Any) -> float:
    """Largest change of the cost within the trust region."""
    away = cost_gradient @ np.linalg.solve(matrix, cost_gradient)
    return float(np.sqrt(2.0 * RADIUS * away))


def by_general_solver(matrix: Any, gradient: Any, cost_gradient: Any, excess: float) -> Any:
    """Solve the same problem in the coordinates in which the region is the unit ball."""
    scale = np.sqrt(2.0 * RADIUS) * np.linalg.inv(np.linalg.cholesky(matrix)).T
    g, b = scale.T @ gradient, scale.T @ cost_gradient
    g, b, excess = g / np.linalg.norm(g), b / np.linalg.norm(b), excess / np.linalg.norm(b)
    found = minimize(
        lambda y: -g @ y,
        -b * max(excess, 0.0),
        jac=lambda y: -g,
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 500},
        constraints=[
            {"type": "ineq", "fun": lambda y: 1.0 - y @ y, "jac": lambda y: -2.0 * y},
            {"type": "ineq", "fun": lambda y: -excess - b @ y, "jac": lambda y: -b},
        ],
    )
    # Status 8: no lower point can be told apart from this one.
    assert found.status in (0, 8)
    return scale @ found.x


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [-0.9, -0.3, 0.0, 0.4, 0.95])
def test_the_step_is_that_of_a_general_solver(seed: int, share: float) -> None:
    matrix, gradient, cost_gradient = problem(seed)
    excess = share * reach(matrix, cost_gradient)
    found = step(matrix, gradient, cost_gradient, excess)
    assert found.case == "bound"
    expected = by_general_solver(matrix, gradient, cost_gradient, excess)
    assert gradient @ found.vector == pytest.approx(gradient @ expected, rel=1e-5)
    assert found.vector == pytest.approx(expected, rel=1e-3, abs=2e-4)
    assert found.vector @ matrix @ found.vector / 2.0 <= RADIUS * (1 + 1e-9)
    assert excess + cost_gradient @ found.vector <= 1e-9
    assert (found.gain, found.cost) == (gradient @ found.vector, cost_gradient @ found.vector)


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_out_of_reach_changes_nothing(seed: int) -> None:
    matrix, gradient, cost_gradient = problem(seed)
    found = step(matrix, gradient, cost_gradient, -1.1 * reach(matrix, cost_gradient))
    natural = np.linalg.solve(matrix, gradient)
    expected = natural * np.sqrt(2.0 * RADIUS / (gradient @ natural))
    assert found.case == "free"
    assert found.vector == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_where_no_near_policy_keeps_the_limit_the_cost_falls_as_far_as_it_can(seed: int) -> None:
    matrix, gradient, cost_gradient = problem(seed)
    farthest = reach(matrix, cost_gradient)
    found = step(matrix, gradient, cost_gradient, 1.1 * farthest)
    assert found.case == "recovery"
    assert cost_gradient @ found.vector == pytest.approx(-farthest)
    assert found.vector @ matrix @ found.vector / 2.0 == pytest.approx(RADIUS)


def test_a_cost_that_nothing_changes_is_left_alone() -> None:
    matrix, gradient, _ = problem(0)
    for excess in (-1.0, 1.0):
        found = step(matrix, gradient, np.zeros(SIZE), excess)
        assert found.case == "free"
        assert gradient @ found.vector > 0
    assert not step(matrix, np.zeros(SIZE), np.zeros(SIZE), -1.0).vector.any()


def test_multipliers_by_hand() -> None:
    """H the identity in two dimensions, g along one axis, b along the other, radius 1/2."""
    # The constraint is x_2 <= 0.6: the best point is (1, 0), and the constraint is not felt.
    assert multipliers(1.0, 0.0, 1.0, -0.6, 0.5) == pytest.approx((1.0, 0.0))
    # x_2 <= -0.6: the best point is (0.8, -0.6) = (g - nu b) / lambda.
    assert multipliers(1.0, 0.0, 1.0, 0.6, 0.5) == pytest.approx((1.25, 0.75))


def test_conjugate_gradients_solve_a_system_exactly_in_as_many_steps_as_it_has_unknowns() -> None:
    matrix, right, _ = problem(3)
    product = matrix.__matmul__
    assert solved(product, right, 2 * SIZE) == pytest.approx(np.linalg.solve(matrix, right))
    assert solved(product, right, 1) == pytest.approx(
        right * (right @ right) / (right @ product(right))
    )


# Line search -------------------------------------------------------------------------------------

STEP = Step(np.zeros(1), "bound", gain=1.0, cost=-1.0)


def leading(gain: float, cost: float, divergence: float) -> Any:
    return lambda length: Moved(gain, cost, divergence)


@pytest.mark.parametrize(
    ("gain", "cost", "divergence", "excess", "fine"),
    [
        (0.1, -1.0, 0.009, -0.5, True),
        (0.1, -1.0, 0.011, -0.5, False),
        (0.1, 0.6, 0.009, -0.5, False),
        (-0.1, -1.0, 0.009, -0.5, False),
        (-0.1, -1.0, 0.009, 0.5, True),
        (0.1, 0.1, 0.009, 0.5, False),
    ],
)
def test_a_length_must_keep_the_bounds(
    gain: float, cost: float, divergence: float, excess: float, fine: bool
) -> None:
    assert accepted(STEP, 1.0, leading(gain, cost, divergence), excess, RADIUS) == fine


def test_as_coded_the_length_is_tested_squared_and_taken_as_it_is() -> None:
    asked = []

    def at(length: float) -> Moved:
        asked.append(length)
        return Moved(gain=length, cost=9.0, divergence=0.02 * length**2)

    found = backtracked(lambda length: accepted_as_coded(STEP, length, at, 0.5, RADIUS), 0.9, 10)
    assert asked == pytest.approx([1.0, 0.81, 0.6561])
    assert found == pytest.approx(0.81)
    assert at(found).divergence > RADIUS >= at(found**2).divergence


def test_a_step_that_is_never_accepted_is_not_taken() -> None:
    tried = []
    assert backtracked(lambda length: bool(tried.append(length)), 0.5, 3) == 0.0
    assert tried == [1.0, 0.5, 0.25]
