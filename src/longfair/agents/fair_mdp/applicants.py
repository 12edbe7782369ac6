"""What the learners of this folder ask of a loan problem; environments hand it out.

`gymnasium.make_vec("longfair/LoanMDP-v0").unwrapped.exact()` is such a problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from longfair.arrays import FloatArray, IntArray

EVERYBODY, QUALIFIED = 0, 1
"""Over whom an average is taken: all applicants of a group, or those who start qualified."""


class Applicants(Protocol):
    """All situations of one group's applicants; S situations, B beliefs, F first situations."""

    @property
    def step(self) -> IntArray:
        """(S,): decisions taken before."""

    @property
    def repaid(self) -> FloatArray:
        """(S,): chance that a loan is repaid."""

    @property
    def profit(self) -> FloatArray:
        """(S,): expected profit of a loan."""

    @property
    def following(self) -> IntArray:
        """(S, 3): next situation after a denial, a default and a repayment."""

    @property
    def beliefs(self) -> FloatArray:
        """(B, 2): the distinct alpha and beta."""

    @property
    def initial(self) -> FloatArray:
        """(F,): probability of each of the first situations."""


class Outcome(Protocol):
    """What P policies bring the lender and the groups."""

    @property
    def sums(self) -> FloatArray:
        """(P, G, 2, 4): expected sums over an episode."""

    def gap(self, who: int = ..., *, discounted: bool = ...) -> FloatArray:
        """Return the largest difference (P,) between the lending rates of two groups."""

    def first_gap(self, who: int = ...) -> FloatArray:
        """Return the largest difference (P,) between the groups' chances of a loan at once."""

    def mixed(self, shares: ArrayLike) -> Any:
        """Return the outcome of drawing one of the policies, with shares (P,)."""


@runtime_checkable
class LoanProblem(Protocol):
    """The applicants of all groups, and what a lender's decisions are worth."""

    @property
    def applicants(self) -> Sequence[Applicants]:
        """One per group."""

    @property
    def group_probability(self) -> FloatArray:
        """(G,)."""

    @property
    def discount(self) -> float:
        """Factor by which every step counts less than the one before."""

    @property
    def decisions(self) -> int:
        """Steps of an episode."""

    def evaluate(self, chances: Sequence[ArrayLike]) -> Any:
        """Return the outcome of P policies, given for each group the chances (P, B) or (P, S)."""
