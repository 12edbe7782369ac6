r"""Algorithm 1: the best fair policy by linear programming (Wen, Bastani, Topcu 2021, Section 3).

Reward and group values are linear in the occupancy, and the occupancies of all policies are the
solutions of the flow equations. So the best fair policy is a linear program,

.. math::

    \max_{\lambda \ge 0} \; \sum_{s,a} R_{s,a} \lambda_{s,a}
    \quad \text{s.t.} \quad
    \sum_a \lambda_{s',a} = (1 - \gamma) D_{s'} + \gamma \sum_{s,a} \lambda_{s,a} P_{s,a,s'},
    \quad
    \rho_z(\lambda) - \rho_{z'}(\lambda) \le \epsilon \;\; \text{for all groups } z \ne z',

and the policy is :math:`\pi_{s,a} = \lambda_{s,a} / \sum_b \lambda_{s,b}` (Theorem 3.1). A basic
solution randomises in as many states as there are binding fairness rows; with two groups that is
one state. The multiplier of these rows is the price of fairness: what one unit more of tolerance
would earn.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array, eye_array, hstack, kron

from longfair.agents.finite.linear_systems import ENDLESS
from longfair.agents.finite.problem import FiniteProblem, require_groups
from longfair.agents.finite.solution import (
    SMALLEST_OCCUPANCY,
    FairSolution,
    NoFairPolicyError,
    solution,
)
from longfair.errors import UsageError
from longfair.settings import NonNegative, validated

OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""How far the solver may miss an equation or a price: the smallest numbers that it accepts."""

optimum = partial(linprog, method="highs", options=OPTIONS)
"""Solve a linear program, given as to `scipy.optimize.linprog`."""

_OPTIMAL, _INFEASIBLE = 0, 2


@validated
def solve(problem: FiniteProblem, tolerance: NonNegative | None = None) -> FairSolution:
    """Return the best policy whose group values differ by at most the tolerance.

    Parameters
    ----------
    problem
        The problem.
    tolerance
        Largest difference allowed between the values of two groups; None for no bound.

    Raises
    ------
    NoFairPolicyError
        If no policy keeps the tolerance. It knows the smallest one that can be kept.
    UsageError
        If the tolerance is negative, or given for fewer than two groups.
    """
    flow = flow_equations(problem)
    bounds: dict[str, Any] = {}
    if tolerance is not None:
        rows = fairness_rows(problem)
        bounds = {"A_ub": rows, "b_ub": np.full(rows.shape[0], tolerance)}
    found = optimum(-problem.reward.ravel(), A_eq=flow, b_eq=problem.inflow, **bounds)
    if found.status == _INFEASIBLE and tolerance is not None:
        raise NoFairPolicyError(tolerance, smallest_tolerance(problem))
    _require_optimal(found)
    price = 0.0 if tolerance is None else max(0.0, -float(found.ineqlin.marginals.sum()))
    visited = found.x.reshape(problem.reward.shape)
    return solution(problem, visited, tolerance, price, SMALLEST_OCCUPANCY)


def smallest_tolerance(problem: FiniteProblem) -> float:
    """Return the smallest gap that any policy reaches, by a linear program of its own.

    The gap is one more variable, bounded from below by every difference of two groups.
    """
    rows = fairness_rows(problem)
    excess = hstack([rows, csr_array(-np.ones((rows.shape[0], 1)))])
    flow = hstack([flow_equations(problem), csr_array((problem.states, 1))])
    cost = np.zeros(flow.shape[1])
    cost[-1] = 1.0
    bounds = {"A_ub": excess, "b_ub": np.zeros(rows.shape[0])}
    found = optimum(cost, A_eq=flow, b_eq=problem.inflow, **bounds)
    _require_optimal(found)
    return float(found.fun)


def flow_equations(problem: FiniteProblem) -> csr_array:
    """Return the left side (S, S * A) of the flow equations: what leaves less what comes back."""
    leaves = kron(eye_array(problem.states), np.ones((1, problem.actions)), format="csr")
    return csr_array(leaves - problem.continuation.T)


def fairness_rows(problem: FiniteProblem) -> csr_array:
    """Return one row (S * A) for every ordered pair of groups: value of one less the other's."""
    require_groups(problem)
    values = problem.group_values.reshape(len(problem.group_values), -1)
    pairs = permutations(range(len(values)), 2)
    return csr_array(np.stack([values[first] - values[other] for first, other in pairs]))


def _require_optimal(found: OptimizeResult) -> None:
    if found.status == _INFEASIBLE:
        raise UsageError(ENDLESS)
    if found.status != _OPTIMAL:
        raise UsageError(
            f"the linear program was not solved: {' '.join(str(found.message).split())}; "
            "check that rewards are finite and that every episode ends or the discount is below 1"
        )
