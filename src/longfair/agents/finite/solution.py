"""What a solver of a fair decision problem returns, and how a policy is read off an occupancy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longfair.agents.finite.problem import FiniteProblem, PolicyValue, occupancy, value_of
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError

SMALLEST_OCCUPANCY = 1e-9
"""Linear programs leave errors of this size: states with less are treated as never visited."""

CERTAIN = 1e-6
"""An action with a probability above 1 less this is taken as certain."""


class NoFairPolicyError(UsageError):
    """No policy keeps the tolerance.

    Attributes
    ----------
    smallest_tolerance
        The smallest tolerance for which there is a policy.
    """

    def __init__(self, tolerance: float, smallest_tolerance: float) -> None:
        self.smallest_tolerance = smallest_tolerance
        super().__init__(
            f"no policy has a gap of at most {tolerance:g}: the smallest gap of any policy is "
            f"{smallest_tolerance:g}; give a tolerance of at least that"
        )


@dataclass(frozen=True)
class FairSolution:
    """The best policy within a tolerance."""

    tolerance: float | None
    """None when the gap was free."""
    policy: FloatArray
    """(S, A): probability of every action. Where the policy never comes it takes action 0."""
    occupancy: FloatArray
    """(S, A): of the policy, computed forward from it and not by the solver."""
    value: PolicyValue
    """What the policy is worth, computed from this occupancy."""
    price: float
    """Reward gained per unit of additional tolerance: the multiplier of the constraint."""

    @property
    def randomised_states(self) -> IntArray:
        """States that the policy visits and in which it takes no action for certain."""
        return np.flatnonzero(self.policy.max(axis=1) < 1.0 - CERTAIN)


def policy_of(visited: FloatArray, smallest: float = 0.0) -> FloatArray:
    r"""Return the policy of an occupancy, :math:`\pi_{s,a} = \lambda_{s,a} / \sum_b \lambda_{s,b}`.

    Parameters
    ----------
    visited
        Shape (S, A). Entries below zero, which solvers leave, count as zero.
    smallest
        States with an occupancy of at most this count as never visited.

    Returns
    -------
    numpy.ndarray
        Shape (S, A). States that are never visited take action 0.
    """
    weight = np.maximum(visited, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    never = total[:, 0] <= smallest
    policy: FloatArray = weight / np.where(never[:, None], 1.0, total)
    policy[never] = np.eye(policy.shape[1])[0]
    return policy


def solution(
    problem: FiniteProblem,
    visited: FloatArray,
    tolerance: float | None,
    price: float,
    smallest: float = 0.0,
) -> FairSolution:
    """Read the policy off an optimal occupancy (S, A) and compute what it is worth."""
    policy = policy_of(visited, smallest)
    exact = occupancy(problem, policy)
    return FairSolution(tolerance, policy, exact, value_of(problem, exact), price)
