"""Fair decision problems: exact solutions and learning (Wen, Bastani, Topcu 2021).

`SeparableMDP` holds a problem, `demographic_parity`, `equal_opportunity` and `batch_problem` say
what is fair in it, and the result, a `FiniteProblem`, finds the best fair policy with its `solve`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

_PLACES = {
    "SeparableMDP": "longfair.agents.fair_mdp.model",
    "batch_problem": "longfair.agents.fair_mdp.batch_decisions",
    "demographic_parity": "longfair.agents.fair_mdp.model",
    "equal_opportunity": "longfair.agents.fair_mdp.model",
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


def __getattr__(name: str) -> Any:
    """Import what solves, and with it scipy, when somebody asks for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES.get(name, "longfair.agents.finite")), name)
