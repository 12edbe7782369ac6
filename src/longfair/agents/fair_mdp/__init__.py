"""Fair decision problems: exact solutions and learning (Wen, Bastani, Topcu 2021).

`SeparableMDP` holds a problem, `demographic_parity`, `equal_opportunity` and `batch_problem` say
what is fair in it, and the result, a `FiniteProblem`, finds the best fair policy with its `solve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longfair.lazy import names_from

if TYPE_CHECKING:
    from longfair.agents.fair_mdp.batch_decisions import batch_problem
    from longfair.agents.fair_mdp.model import (
        SeparableMDP,
        demographic_parity,
        equal_opportunity,
    )
    from longfair.agents.finite import (
        FairSolution,
        FiniteProblem,
        NoFairPolicyError,
        PolicyValue,
        evaluate,
        occupancy,
    )

# What solves brings scipy.
_PLACES = {
    "FairSolution": "longfair.agents.finite",
    "FiniteProblem": "longfair.agents.finite",
    "NoFairPolicyError": "longfair.agents.finite",
    "PolicyValue": "longfair.agents.finite",
    "SeparableMDP": "longfair.agents.fair_mdp.model",
    "batch_problem": "longfair.agents.fair_mdp.batch_decisions",
    "demographic_parity": "longfair.agents.fair_mdp.model",
    "equal_opportunity": "longfair.agents.fair_mdp.model",
    "evaluate": "longfair.agents.finite",
    "occupancy": "longfair.agents.finite",
}


def solve(problem: FiniteProblem, tolerance: float | None = None) -> FairSolution:
    """Return the best fair policy; see `FiniteProblem.solve`."""
    return problem.solve(tolerance)


__all__ = [
    "FairSolution",
    "FiniteProblem",
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

__getattr__ = names_from(__name__, _PLACES)
