"""Finite decision problems: one class, with every solver that this library has for them."""

from __future__ import annotations

from longfair.agents.finite.problem import (
    FiniteHorizonSolution,
    FiniteProblem,
    PolicyValue,
    deterministic,
    evaluate,
    occupancy,
    value_of,
)
from longfair.agents.finite.solution import FairSolution, NoFairPolicyError

__all__ = [
    "FairSolution",
    "FiniteHorizonSolution",
    "FiniteProblem",
    "NoFairPolicyError",
    "PolicyValue",
    "deterministic",
    "evaluate",
    "occupancy",
    "value_of",
]
