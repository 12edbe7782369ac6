r"""Algorithm 1 for large problems: the same linear program, one policy at a time.

The linear program has a flow equation for every state but only a few fairness rows. Every
occupancy is a mixture of those of deterministic policies, so the program can be written with one
variable :math:`x_k` per deterministic policy, its share in the mixture (Dantzig and Wolfe 1960):

.. math::

    \max_{x \ge 0} \; \sum_k x_k R^{(k)}
    \quad \text{s.t.} \quad
    \sum_k x_k \big(\rho_z^{(k)} - \rho_{z'}^{(k)}\big) \le \epsilon, \quad \sum_k x_k = 1 .

There are too many policies to list, but a few are enough. The multipliers :math:`\mu_{z,z'}` of a
solution put a price on what every action adds to the gaps. If the best policy at these prices, a
dynamic program without constraint, would not raise the optimum, nothing would; otherwise it
becomes the next column. A dozen columns are typical, whatever the number of states.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from longfair.agents.finite.dynamic_programs import best_actions
from longfair.agents.finite.linear_program import optimum
from longfair.agents.finite.problem import (
    FiniteProblem,
    PolicyValue,
    deterministic,
    evaluate,
    occupancy,
    require_groups,
)
from longfair.agents.finite.solution import (
    FairSolution,
    NoFairPolicyError,
    solution,
)
from longfair.arrays import FloatArray, IntArray
from longfair.settings import NonNegative, validated

_ROUNDING = 1e-11
"""Relative gains below this are rounding errors."""

_UNUSED = 1e-12
"""Policies with a smaller share are not part of the mixture."""


@dataclass(frozen=True)
class _Column:
    """A deterministic policy."""

    actions: IntArray
    value: PolicyValue

    @property
    def differences(self) -> FloatArray:
        """(G (G - 1),): value of one group less that of another, for every ordered pair."""
        values = self.value.group_values
        return np.array([values[one] - values[other] for one, other in _pairs(len(values))])


@dataclass(frozen=True)
class _Mixture:
    """Solution of the program over the columns so far."""

    shares: FloatArray
    objective: float
    prices: FloatArray
    """(G (G - 1),): multipliers of the fairness rows."""


@validated
def solve(problem: FiniteProblem, tolerance: NonNegative | None = None) -> FairSolution:
    """Return the best policy whose group values differ by at most the tolerance.

    Parameters
    ----------
    problem
        The problem; a hundred thousand pairs of state and action take seconds.
    tolerance
        Largest difference allowed between the values of two groups; None for no bound.

    Raises
    ------
    NoFairPolicyError
        If no policy keeps the tolerance. It knows the smallest one that can be kept.
    UsageError
        If the tolerance is negative, or given for fewer than two groups.
    """
    if tolerance is not None:
        require_groups(problem)
    columns = [_column(problem, problem.reward)]
    if tolerance is None:
        visited = occupancy(problem, deterministic(problem, columns[0].actions))
        return solution(problem, visited, None, 0.0)
    _add_fair_policies(problem, columns, tolerance)
    while True:
        rewards = np.array([column.value.reward for column in columns])
        mixture = _master(rewards, columns, tolerance)
        entering = _column(problem, problem.reward - _priced(problem, mixture.prices))
        worth = entering.value.reward - mixture.prices @ (entering.differences - tolerance)
        gain = worth - mixture.objective
        if gain <= _ROUNDING * (1.0 + abs(worth)) or _known(entering, columns):
            break
        columns.append(entering)
    visited = sum(
        share * occupancy(problem, deterministic(problem, column.actions))
        for share, column in zip(mixture.shares, columns, strict=True)
        if share > _UNUSED
    )
    return solution(problem, np.asarray(visited), tolerance, float(mixture.prices.sum()))


def _add_fair_policies(problem: FiniteProblem, columns: list[_Column], tolerance: float) -> None:
    """Add policies until a mixture keeps the tolerance."""
    while True:
        mixture = _smallest_gap(columns)
        if mixture.objective <= tolerance:
            return
        entering = _column(problem, -_priced(problem, mixture.prices))
        gain = mixture.objective - mixture.prices @ entering.differences
        if gain <= _ROUNDING or _known(entering, columns):
            if mixture.objective > tolerance + _ROUNDING:
                raise NoFairPolicyError(tolerance, mixture.objective)
            return
        columns.append(entering)


def _master(rewards: FloatArray, columns: list[_Column], tolerance: float) -> _Mixture:
    """Return the best mixture of the columns within the tolerance."""
    rows = np.stack([column.differences for column in columns], axis=1)
    found = optimum(
        -rewards,
        A_ub=rows,
        b_ub=np.full(len(rows), tolerance),
        A_eq=np.ones((1, len(columns))),
        b_eq=[1.0],
    )
    return _Mixture(found.x, -float(found.fun), -np.asarray(found.ineqlin.marginals))


def _smallest_gap(columns: list[_Column]) -> _Mixture:
    """Return the mixture of the columns with the smallest gap, which is one more variable."""
    rows = np.stack([column.differences for column in columns], axis=1)
    found = optimum(
        np.append(np.zeros(len(columns)), 1.0),
        A_ub=np.column_stack([rows, -np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.append(np.ones(len(columns)), 0.0)[None, :],
        b_eq=[1.0],
    )
    return _Mixture(found.x[:-1], float(found.fun), -np.asarray(found.ineqlin.marginals))


def _column(problem: FiniteProblem, reward: FloatArray) -> _Column:
    """Return the best policy for a reward (S, A), and what it is worth in the problem."""
    actions = best_actions(problem, reward)
    return _Column(actions, evaluate(problem, deterministic(problem, actions)))


def _priced(problem: FiniteProblem, prices: FloatArray) -> FloatArray:
    """Return what every action (S, A) adds to the differences of groups, at their prices."""
    weights = np.zeros(len(problem.group_values))
    for price, (one, other) in zip(prices, _pairs(len(weights)), strict=True):
        weights[one] += price
        weights[other] -= price
    return np.tensordot(weights, problem.group_values, axes=1)


def _known(entering: _Column, columns: list[_Column]) -> bool:
    """Whether a policy is a column already: then what it seemed to gain is a rounding error."""
    return any(np.array_equal(entering.actions, column.actions) for column in columns)


def _pairs(groups: int) -> list[tuple[int, ...]]:
    return list(permutations(range(groups), 2))
