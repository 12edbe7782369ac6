"""Fair decision problems: exact solutions and learning (Wen, Bastani, Topcu 2021).

`SeparableMDP` holds a problem, `demographic_parity`, `equal_opportunity` and `batch_problem` say
what is fair in it, and `solve` finds the best fair policy.
"""

from __future__ import annotations

from longfair.agents.fair_mdp import column_generation, linear_program
from longfair.agents.fair_mdp.batch_decisions import batch_problem
from longfair.agents.fair_mdp.model import (
    FairProblem,
    PolicyValue,
    SeparableMDP,
    demographic_parity,
    equal_opportunity,
    evaluate,
    occupancy,
)
from longfair.agents.fair_mdp.solution import FairSolution, NoFairPolicyError

LARGEST_DIRECT = 4000
"""Pairs of state and action up to which the whole linear program is handed to the solver."""


def solve(problem: FairProblem, tolerance: float | None = None) -> FairSolution:
    """Return the best fair policy, by whichever form of the linear program suits the size.

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
        If the tolerance is negative.
    """
    if problem.reward.size <= LARGEST_DIRECT:
        return linear_program.solve(problem, tolerance)
    return column_generation.solve(problem, tolerance)


__all__ = [
    "FairProblem",
    "FairSolution",
    "NoFairPolicyError",
    "PolicyValue",
    "SeparableMDP",
    "batch_problem",
    "demographic_parity",
    "equal_opportunity",
    "evaluate",
    "occupancy",
    "solve",
]
