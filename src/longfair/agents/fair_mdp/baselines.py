r"""What a lender may believe about fairness: the constraints that Section 6 compares.

All use the true reward. They differ in the violation they look at:

- **race-blind** looks at none, and its network does not see the group;
- **optimistic** (Equation 7) takes the distribution of applicants for constant,
  :math:`D^{(\pi)} = D`, so it compares the chances of a loan in the first step;
- **conservative** (Equation 8) wants a policy that is fair whatever the distribution becomes. When
  the individual reward is the loan itself, this leaves policies that treat everybody alike, of
  which there is one per chance of a loan;
- **constrained** (Equation 1) looks at the expected loans over time.

Demographic parity compares everybody, equal opportunity those who start qualified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from longfair.agents.fair_mdp.applicants import EVERYBODY, QUALIFIED, LoanProblem, Outcome
from longfair.agents.fair_mdp.cross_entropy import Gaussians
from longfair.arrays import FloatArray
from longfair.settings import OneOf, validate

WHO = {"dp": EVERYBODY, "eo": QUALIFIED}
"""Notions of fairness: demographic parity and equal opportunity."""


@dataclass(frozen=True)
class Constraint:
    """What a search holds below the tolerance.

    Parameters
    ----------
    looks_at
        `"nothing"`, `"first step"` or `"episode"`.
    notion
        `"dp"` or `"eo"`.
    discounted
        Whether loans of an episode are discounted (the paper) or divided by the number of
        decisions less one (the code).

    Raises
    ------
    UsageError
        If a name is unknown.
    """

    looks_at: Annotated[str, OneOf("nothing", "first step", "episode")] = "episode"
    notion: Annotated[str, OneOf(*WHO)] = "dp"
    discounted: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    @property
    def who(self) -> int:
        """Over whom it averages."""
        return WHO[self.notion]

    def violation(self, outcome: Outcome) -> FloatArray:
        """Return the violations (P,)."""
        if self.looks_at == "nothing":
            return np.zeros(len(outcome.sums))
        if self.looks_at == "first step":
            return outcome.first_gap(self.who)
        return outcome.gap(self.who, discounted=self.discounted)


@dataclass(frozen=True)
class ConstantPolicy:
    """The conservative lender's policies: one chance of a loan for everybody, always.

    The distribution starts with mean 0.5 and deviation 0.2, and draws outside [0, 1] are repeated
    (code).
    """

    @property
    def size(self) -> int:
        """How many numbers make a policy."""
        return 1

    def start(self) -> Gaussians:
        """Return the distribution with which the search begins."""
        return Gaussians(np.array([0.5]), np.array([0.5**2 + 0.2**2]), (0.0, 1.0))

    def chances(self, problem: LoanProblem, parameters: ArrayLike) -> list[FloatArray]:
        """Return for each group the chance of a loan, (P, B), given parameters (P, 1)."""
        rows = np.asarray(parameters, dtype=np.float64)
        return [np.repeat(rows, len(group.beliefs), axis=1) for group in problem.applicants]
