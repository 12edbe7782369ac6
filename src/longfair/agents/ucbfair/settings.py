r"""Settings of L-UCBFair, and the three sets of them that are told apart.

The paper's appendix with the settings of its experiments could not be read. What is known are the
theorem's, and those of a released script for a smaller problem. With the theorem's nothing is
learned in 2000 episodes of the population; the book shows the runs. So a third set is chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from longfair.agents.policies.notions import Notion
from longfair.agents.ucbfair.draws import SharedDraws
from longfair.settings import (
    Count,
    NonNegative,
    OneOf,
    Positive,
    Probability,
    Range,
    changed,
    checked,
    validate,
)

_HIGHEST = 1e12
"""No price and no step of it is higher, so that sums of them stay numbers."""

_Spent = Annotated[float, Range(2.0 / _HIGHEST, 1.0)]
"""Budgets by which the theorem's bound of the price can be divided."""


@dataclass(frozen=True)
class LUCBFairSettings:
    """Settings of L-UCBFair. None stands for what Theorem 3.3 asks for."""

    PRESETS: ClassVar[tuple[str, ...]] = ("calibrated", "as_published", "as_coded")
    name: ClassVar[str] = "l-ucbfair"
    revision: ClassVar[int] = 1

    episodes: Count = 2000
    """Episodes K that learning is planned for."""
    cells: Count = 5
    """Cells along each action; M is their square."""
    ridge: Positive = 1e-3
    """Varsigma: what is added to the diagonal of every Gram matrix."""
    bonus: NonNegative | None = 0.05
    """Beta: weight of the uncertainty that is added to values."""
    sharpness: Positive | None = 20.0
    """Kappa: how strongly the softmax prefers better cells."""
    largest_price: Annotated[float, Range(0.0, _HIGHEST)] = 10.0
    """Bound of the dual variable nu."""
    price_step: Annotated[float, Range(0.0, _HIGHEST, above=True)] | None = None
    """Eta: step of the dual variable."""
    budget: Probability = 0.1
    """Mean disparity per step that is allowed."""
    notion: Notion = "demographic-parity"
    """The disparity."""
    data: Annotated[str, OneOf("per step", "pooled", "frozen")] = "per step"
    """``"per step"``: every step of the horizon has a regression of its own, whose targets are
    worked out anew whenever the policy is. ``"frozen"``: the same, but a target stays as it was
    when the step was made. ``"pooled"``: one Gram matrix for all steps, since neither rewards nor
    the population depend on the step."""
    remaining_cap: bool = True
    """Whether values are capped by the number of steps left, not by the whole horizon."""
    shared_draws: bool = False
    """Whether all steps of an episode draw their action with the same random numbers."""
    sample: Count = 3000
    """Transitions that a pooled regression looks at."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def parts(self) -> tuple[Any, ...]:
        """Return what else decides numbers, for a run's key."""
        return (SharedDraws,) if self.shared_draws else ()

    @classmethod
    def calibrated(cls, **changes: Any) -> LUCBFairSettings:
        """Return the algorithm as published, with numbers under which it learns.

        The theorem's ridge of 1 is large beside features whose mean squared length is a seventh, as
        that of 40 radial ones is. Every step of the horizon then shrinks values once more, for as
        long as few episodes have been seen.
        """
        return changed(cls(), changes)

    @classmethod
    def as_published(cls, **changes: Any) -> LUCBFairSettings:
        """Return the numbers of Theorem 3.3, with 1 for the constant that it leaves open.

        The bound of the price is that of the work it builds on, 2 H / gamma: with parity, accepting
        everybody keeps the constraint with gamma = budget * H to spare. The same bound is taken
        for the other disparities.
        """
        literal = cls(ridge=1.0, bonus=None, sharpness=None, remaining_cap=False)
        if "largest_price" not in changes:
            budget = checked("budget", changes.get("budget", cls.budget), _Spent)
            literal = replace(literal, largest_price=2.0 / budget)
        return changed(literal, changes)

    @classmethod
    def as_coded(cls, **changes: Any) -> LUCBFairSettings:
        """Return the numbers of the released script.

        Its bound of the price is 0, which switches the constraint off. Its action draws start from
        the episode's number at every step, so that all steps of an episode share them. It inverts
        the Gram matrix again at every step, which changes nothing but the time it takes.
        """
        released = cls(
            episodes=500,
            ridge=1.0,
            sharpness=1.0,
            largest_price=0.0,
            data="frozen",
            remaining_cap=False,
            shared_draws=True,
        )
        return changed(released, changes)

    def resolved(self, horizon: int, features: int) -> LUCBFairSettings:
        r"""Return the settings with the theorem's numbers in place of None.

        Parameters
        ----------
        horizon
            Steps H of an episode.
        features
            Number of features d.

        Notes
        -----
        .. math::

            \beta = d H \sqrt{\zeta}, \quad \zeta = \log(4 d H K \log(M) / p), \quad
            \kappa = \frac{K \log M}{2 (1 + \bar\nu + H)}, \quad
            \eta = \frac{\bar\nu}{\sqrt{K H^2}}, \quad p = 0.05 .
        """
        count, choices = self.episodes, np.log(max(self.cells**2, 2))
        confidence = np.log(choices * 4 * features * horizon * count / FAILURE)
        theory: dict[str, Any] = {
            "bonus": features * horizon * float(np.sqrt(confidence)),
            "sharpness": float(count * choices / (2 * (1 + self.largest_price + horizon))),
            "price_step": self.largest_price / (np.sqrt(count) * horizon) or 1.0,
        }
        return replace(
            self, **{name: value for name, value in theory.items() if getattr(self, name) is None}
        )

    def raised(self, price: float, missing: float) -> float:
        """Return the price after a step by the fairness that is missing, or below 0 to spare."""
        assert self.price_step is not None
        return float(np.clip(price + self.price_step * missing, 0.0, self.largest_price))


FAILURE = 0.05
"""Chance p with which the theorem's bounds may fail."""
