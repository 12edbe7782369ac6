r"""The same optimum by duality: dynamic programming with a price on the gap.

With two groups the best fair policy within tolerance :math:`\epsilon` solves

.. math::

    \min_{\mu \ge 0} \; \max_\pi \;
    R^{(\pi)} - \mu \, (\rho^{(\pi)}_1 - \rho^{(\pi)}_0 - \epsilon)

when the group 1 is ahead; else the groups change places. For a fixed price :math:`\mu` the inner
problem has no constraint. Its reward is :math:`R_{s,a}` less :math:`\mu` times what an action adds
to the gap, and because groups never mix, each group is a dynamic program of its own.

Every deterministic policy is a point (gap, reward), and all policies together fill the convex hull
of these points. The upper edge of the hull is the **frontier**: the best reward for every gap. Its
slope is the price. A dynamic program at price :math:`\mu` finds the point of the hull farthest in
the direction :math:`(-\mu, 1)`. So the corners are found by asking, for two known ones, whether
there is a point above the line through them (Eisner and Severance 1976). Between two neighbouring
corners the best policy mixes the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longfair.agents.finite.dynamic_programs import best_actions
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
from longfair.errors import UsageError
from longfair.settings import NonNegative, Range, validated

_ROUNDING = 1e-12
"""Relative differences below this are rounding errors."""


@dataclass(frozen=True)
class Corner:
    """A deterministic policy on the frontier."""

    actions: IntArray
    """(S,)"""
    value: PolicyValue
    gap: float
    """Value of the group that is ahead without constraint less that of the other; may be below
    zero."""

    @property
    def reward(self) -> float:
        """Reward of the policy."""
        return self.value.reward


@dataclass(frozen=True)
class Frontier:
    """Corners of the reward as a function of the tolerance, from the smallest gap on."""

    gap: FloatArray
    """(K,): increasing."""
    reward: FloatArray
    """(K,): increasing, concave in the gap."""
    error: float
    """No policy lies above the line through the corners by more than this."""

    @property
    def price(self) -> FloatArray:
        """(K - 1,): slope between neighbouring corners, decreasing."""
        return np.diff(self.reward) / np.diff(self.gap)

    @validated
    def at(self, tolerance: NonNegative) -> float:
        """Return the best reward within a tolerance.

        Raises
        ------
        UsageError
            If no policy keeps the tolerance.
        """
        if tolerance < self.gap[0]:
            raise UsageError(
                f"tolerance={tolerance:g}: no policy is that fair; give at least {self.gap[0]:.6g}"
            )
        return float(np.interp(tolerance, self.gap, self.reward))


@validated
def corner(
    problem: FiniteProblem,
    price: Annotated[float, Range(0.0, infinite=True)],
    sign: Annotated[int, Range(-1, 1)] = 1,
) -> Corner:
    """Return the best policy at a price of the gap: the inner maximum of the dual.

    Parameters
    ----------
    problem
        A problem with two groups.
    price
        The multiplier; infinite for the smallest gap at any cost.
    sign
        1 if the gap is the value of group 1 less that of group 0, -1 for the reverse.
    """
    widens = sign * (problem.group_values[1] - problem.group_values[0])
    objective = -widens if np.isinf(price) else problem.reward - price * widens
    actions = best_actions(problem, objective)
    value = evaluate(problem, deterministic(problem, actions))
    return Corner(actions, value, sign * float(value.group_values[1] - value.group_values[0]))


@validated
def solve(problem: FiniteProblem, tolerance: NonNegative | None = None) -> FairSolution:
    """Return the best policy whose two group values differ by at most the tolerance.

    Parameters
    ----------
    problem
        A problem with two groups.
    tolerance
        Largest gap allowed; None for no bound.

    Raises
    ------
    NoFairPolicyError
        If no policy keeps the tolerance. It knows the smallest one that can be kept.
    UsageError
        If the tolerance is negative or there are not two groups.
    """
    if tolerance is not None:
        require_groups(problem)
    sign, right = _without_constraint(problem)
    if tolerance is None or right.gap <= tolerance:
        return solution(problem, _visited(problem, right), tolerance, 0.0)
    left = corner(problem, np.inf, sign)
    if left.gap > tolerance + _ROUNDING:
        raise NoFairPolicyError(tolerance, left.gap)
    while True:
        price = _slope(left, right)
        middle = corner(problem, price, sign)
        if not _above(middle, left, right):
            break
        left, right = (middle, right) if middle.gap <= tolerance else (left, middle)
    share = (tolerance - left.gap) / (right.gap - left.gap)
    mixed = (1.0 - share) * _visited(problem, left) + share * _visited(problem, right)
    return solution(problem, mixed, tolerance, price)


@validated
def frontier(problem: FiniteProblem, resolution: NonNegative = 0.0) -> Frontier:
    """Return the best reward for every tolerance, from the smallest one that can be kept.

    Parameters
    ----------
    problem
        A problem with two groups.
    resolution
        Corners that lie above the line through their neighbours by at most this may be left out; 0
        for all corners.

    Returns
    -------
    Frontier
        From the smallest possible gap, or from 0 when policies can reverse the gap, up to the gap
        of the best policy without constraint.
    """
    require_groups(problem)
    sign, right = _without_constraint(problem)
    left = corner(problem, np.inf, sign)
    points = [(right.gap, right.reward)]
    error, pending = 0.0, [(left, right)]
    while pending:
        first, second = pending.pop()
        # A chord over negative gaps only says nothing about tolerances.
        if second.gap <= 0.0 or second.gap - first.gap <= _ROUNDING:
            continue
        price = _slope(first, second)
        middle = corner(problem, price, sign)
        height = middle.reward - first.reward - price * (middle.gap - first.gap)
        if height > resolution and _above(middle, first, second):
            pending += [(first, middle), (middle, second)]
        else:
            error = max(error, height)
            points.append((first.gap, first.reward))
    return _from_zero(sorted(points), max(error, 0.0))


def _from_zero(points: list[tuple[float, float]], error: float) -> Frontier:
    gap, reward = (np.array(column) for column in zip(*points, strict=True))
    if gap[0] < 0.0:
        start = float(np.interp(0.0, gap, reward))
        kept = gap > 0.0
        gap, reward = np.append(0.0, gap[kept]), np.append(start, reward[kept])
    return Frontier(gap, reward, error)


def _without_constraint(problem: FiniteProblem) -> tuple[int, Corner]:
    """Return which group is ahead under the best policy (1 or -1), and this policy."""
    if len(problem.group_values) != 2:
        raise UsageError(
            f"the problem has {len(problem.group_values)} groups: duality is written for two, "
            "use the linear program"
        )
    best = corner(problem, 0.0)
    if best.gap >= 0.0:
        return 1, best
    return -1, Corner(best.actions, best.value, -best.gap)


def _slope(left: Corner, right: Corner) -> float:
    return (right.reward - left.reward) / (right.gap - left.gap)


def _above(middle: Corner, left: Corner, right: Corner) -> bool:
    """Whether a corner lies above the line through two others by more than rounding errors."""
    height = middle.reward - left.reward - _slope(left, right) * (middle.gap - left.gap)
    scale = abs(left.reward) + abs(right.reward) + abs(_slope(left, right))
    return height > _ROUNDING * scale


def _visited(problem: FiniteProblem, of: Corner) -> FloatArray:
    return occupancy(problem, deterministic(problem, of.actions))
