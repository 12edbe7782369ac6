"""Three solvers of the fair problem: they agree, are optimal, and say what cannot be done."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from longfair.agents import fair_mdp
from longfair.agents.fair_mdp.model import SeparableMDP, demographic_parity
from longfair.agents.finite import column_generation, lagrangian, linear_program
from longfair.agents.finite import problem as finite_problem
from longfair.agents.finite.problem import FiniteProblem, deterministic, evaluate, occupancy
from longfair.agents.finite.solution import NoFairPolicyError, policy_of
from longfair.errors import UsageError

SOLVERS = [linear_program, column_generation, lagrangian]


def problem_of(seed: int, groups: int = 2, size: int = 3, ahead: float = 0.5) -> FiniteProblem:
    """Draw a problem in which later groups are better off."""
    generator = np.random.default_rng(seed)
    states = groups * size
    group = np.repeat(np.arange(groups), size)
    transition = np.zeros((states, 2, states))
    for first in range(0, states, size):
        block = generator.dirichlet(np.ones(size), size=(size, 2))
        transition[first : first + size, :, first : first + size] = block
    return demographic_parity(
        SeparableMDP(
            transition=transition,
            reward=generator.normal(size=(states, 2)),
            individual_reward=generator.random((states, 2)) + ahead * group[:, None],
            group=group,
            initial_distribution=generator.dirichlet(np.ones(states)),
            discount=0.8,
        )
    )


def corners(problem: FiniteProblem) -> Any:
    """Return (gap, reward) of all deterministic policies; the gap has a sign."""
    points = []
    for actions in product(range(problem.actions), repeat=problem.states):
        value = evaluate(problem, deterministic(problem, actions))
        points.append((value.group_values[1] - value.group_values[0], value.reward))
    return np.array(points)


def best_of_mixtures(problem: FiniteProblem, tolerance: float) -> float:
    """Return the best mixture of two deterministic policies within the tolerance.

    Occupancies form a polytope whose corners are deterministic, and there is one constraint, so no
    policy is better.
    """
    gap, reward = corners(problem).T
    best = reward[np.abs(gap) <= tolerance].max(initial=-np.inf)
    for bound in (-tolerance, tolerance):
        below, above = np.flatnonzero(gap < bound), np.flatnonzero(gap > bound)
        share = (bound - gap[below, None]) / (gap[above] - gap[below, None])
        mixed = (1 - share) * reward[below, None] + share * reward[above]
        best = max(best, mixed.max(initial=-np.inf))
    return float(best)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_no_mixture_of_policies_is_better(solver: ModuleType, seed: int) -> None:
    problem = problem_of(seed)
    least = linear_program.smallest_tolerance(problem)
    for tolerance in (least + 0.001, least + 0.05, least + 0.3):
        found = solver.solve(problem, tolerance)
        assert found.value.reward == pytest.approx(best_of_mixtures(problem, tolerance), abs=1e-9)
        assert found.value.gap <= tolerance + 1e-9
        assert len(found.randomised_states) <= 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_constraint_the_best_policy_is_deterministic(solver: ModuleType) -> None:
    problem = problem_of(5)
    found = solver.solve(problem)
    assert found.value.reward == pytest.approx(corners(problem)[:, 1].max(), abs=1e-12)
    assert found.price == 0.0
    assert found.tolerance is None
    assert not len(found.randomised_states)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_cannot_be_kept_is_reported_with_the_smallest_tolerance(solver: ModuleType) -> None:
    problem = problem_of(0, ahead=0.8)
    gap, _ = corners(problem).T
    assert gap.min() > 0.05  # the second group is ahead whatever is done
    with pytest.raises(NoFairPolicyError, match=r"no policy has a gap of at most 0\.05") as error:
        solver.solve(problem, 0.05)
    assert error.value.smallest_tolerance == pytest.approx(gap.min(), abs=1e-9)
    found = solver.solve(problem, error.value.smallest_tolerance + 1e-12)
    assert found.value.gap == pytest.approx(gap.min(), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_price_is_what_tolerance_earns(solver: ModuleType) -> None:
    """Finite difference of the optimum; the optimum is linear between corners."""
    problem = problem_of(1)
    tolerance = linear_program.smallest_tolerance(problem) + 0.1
    found = solver.solve(problem, tolerance)
    more = solver.solve(problem, tolerance + 1e-5).value.reward
    assert found.price > 0.01
    assert found.price == pytest.approx((more - found.value.reward) / 1e-5, rel=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_does_not_matter_which_group_is_ahead(solver: ModuleType) -> None:
    problem = problem_of(2)
    swapped = replace(problem, group_values=problem.group_values[::-1].copy())
    for tolerance in (0.45, None):
        found, other = solver.solve(problem, tolerance), solver.solve(swapped, tolerance)
        assert found.value.reward == pytest.approx(other.value.reward, abs=1e-10)
        np.testing.assert_allclose(found.policy, other.policy, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gap_may_change_its_sign(solver: ModuleType) -> None:
    """Nobody is ahead for structural reasons, so a gap of zero can be kept."""
    problem = problem_of(3, ahead=0.0)
    gap, _ = corners(problem).T
    assert gap.min() < 0 < gap.max()
    found = solver.solve(problem, 0.0)
    assert found.value.reward == pytest.approx(best_of_mixtures(problem, 0.0), abs=1e-9)
    assert found.value.gap <= 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_groups(seed: int) -> None:
    """Two solvers that share no code agree; with three groups two states may be random."""
    problem = problem_of(seed, groups=3, ahead=0.1)
    least = linear_program.smallest_tolerance(problem)
    for tolerance in (least + 0.002, least + 0.05):
        found = [solver.solve(problem, tolerance) for solver in (linear_program, column_generation)]
        assert found[0].value.reward == pytest.approx(found[1].value.reward, abs=1e-8)
        assert max(one.value.gap for one in found) <= tolerance + 1e-8
        assert len(found[0].randomised_states) <= 2
    with pytest.raises(UsageError, match="3 groups: duality is written for two"):
        lagrangian.solve(problem, 1.0)
    apart = problem_of(seed, groups=3, ahead=0.8)
    with pytest.raises(NoFairPolicyError) as error:
        column_generation.solve(apart, 0.0)
    least = linear_program.smallest_tolerance(apart)
    assert error.value.smallest_tolerance == pytest.approx(least, abs=1e-9)


def test_episodes_are_solved_step_by_step() -> None:
    """Steps written into the state, once with and once without telling the solver."""
    generator = np.random.default_rng(4)
    steps, size = 4, 4
    group = np.tile([0, 0, 1, 1], steps)
    states = steps * size
    rows = np.zeros((states, 2, states))
    for state in range(states - size):
        following = (state // size + 1) * size + 2 * group[state] + np.arange(2)
        rows[state][:, following] = generator.dirichlet(np.ones(2), size=2)
    inflow = np.concatenate([generator.dirichlet(np.ones(size)), np.zeros(states - size)])
    share = np.bincount(group, weights=inflow)
    member = (group == np.arange(2)[:, None]) / share[:, None]
    blind = FiniteProblem(
        continuation=csr_array(rows.reshape(-1, states)),
        inflow=inflow,
        reward=generator.normal(size=(states, 2)),
        group_values=member[:, :, None] * generator.random((states, 2)),
    )
    told = replace(blind, stages=tuple(range(0, states + 1, size)))
    policy = generator.dirichlet(np.ones(2), size=states)
    np.testing.assert_allclose(occupancy(told, policy), occupancy(blind, policy), atol=1e-13)
    assert occupancy(told, policy).sum() == pytest.approx(steps)
    for solver in SOLVERS:
        for tolerance in (0.3, None):
            expected = linear_program.solve(blind, tolerance).value.reward
            found = solver.solve(told, tolerance).value.reward
            assert found == pytest.approx(expected, abs=1e-9)


# The frontier ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "ahead"), [(0, 0.5), (1, 0.5), (3, 0.0), (4, -0.4)])
def test_the_frontier_is_the_optimum_at_every_tolerance(seed: int, ahead: float) -> None:
    problem = problem_of(seed, ahead=ahead)
    found = lagrangian.frontier(problem)
    assert found.gap[0] == pytest.approx(linear_program.smallest_tolerance(problem), abs=1e-9)
    assert (np.diff(found.gap) > 0).all()
    assert (np.diff(found.price) < 0).all()
    for tolerance in np.linspace(found.gap[0] + 1e-9, found.gap[-1] + 0.1, 7):
        expected = best_of_mixtures(problem, tolerance)
        assert found.at(tolerance) == pytest.approx(expected, abs=1e-8)
    middle = (found.gap[:-1] + found.gap[1:]) / 2
    prices = [linear_program.solve(problem, tolerance).price for tolerance in middle]
    np.testing.assert_allclose(found.price, prices, rtol=1e-6, atol=1e-9)


def test_a_coarse_frontier_says_how_coarse_it_is() -> None:
    problem = problem_of(0, size=4)
    exact, coarse = (lagrangian.frontier(problem, resolution) for resolution in (0.0, 0.05))
    assert len(coarse.gap) < len(exact.gap)
    assert exact.error <= 1e-12
    shortfall = exact.reward - np.interp(exact.gap, coarse.gap, coarse.reward)
    assert 0.0 < shortfall.max() <= coarse.error <= 0.05


def test_below_the_frontier_there_is_nothing() -> None:
    found = lagrangian.frontier(problem_of(0))
    with pytest.raises(UsageError, match=r"tolerance=0.01: no policy is that fair; give at least"):
        found.at(0.01)


# Details -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, fair_mdp])
@pytest.mark.parametrize("tolerance", [-0.1, float("nan")])
def test_a_tolerance_is_not_negative(solver: ModuleType, tolerance: float) -> None:
    wanted = f"tolerance={tolerance}: give a finite number of at least 0 or None"
    with pytest.raises(UsageError, match=wanted):
        solver.solve(problem_of(0), tolerance)


def test_a_policy_is_read_off_an_occupancy() -> None:
    visited = np.array([[0.3, 0.1], [0.0, 0.0], [-1e-12, 0.2], [1e-10, 1e-10]])
    expected = [[0.75, 0.25], [1, 0], [0, 1], [1, 0]]
    np.testing.assert_allclose(policy_of(visited, smallest=1e-9), expected)
    np.testing.assert_allclose(policy_of(visited)[3], [0.5, 0.5])


def test_rewards_must_be_finite() -> None:
    problem = problem_of(0)
    with pytest.raises((UsageError, ValueError)):
        linear_program.solve(replace(problem, reward=np.full((6, 2), np.inf)))


def test_large_problems_go_to_column_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(0)
    small = fair_mdp.solve(problem, 0.6).value.reward
    monkeypatch.setattr(linear_program, "solve", None)
    monkeypatch.setattr(finite_problem, "LARGEST_DIRECT", 11)
    assert fair_mdp.solve(problem, 0.6).value.reward == pytest.approx(small, abs=1e-10)


@pytest.mark.parametrize("tolerance", [None, 0.1])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_problem_that_never_ends_is_not_called_infeasible(
    solver: ModuleType, tolerance: float | None
) -> None:
    """What helps is a horizon or a discount, and the error says how to give either."""
    problem = problem_of(0)
    endless = replace(problem, continuation=csr_array(problem.continuation / 0.8))
    with pytest.raises(UsageError, match=r"unrolled\(steps\), or a discount with discounted\(fac"):
        solver.solve(endless, tolerance)
    with pytest.raises(UsageError, match="episodes of this problem need not end"):
        endless.evaluate(np.full((endless.states, endless.actions), 0.5))
    assert endless.unrolled(3).solve(tolerance).value.reward < np.inf
