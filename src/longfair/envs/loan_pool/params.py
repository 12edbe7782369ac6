"""What defines a loan pool."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from longfair.errors import UsageError
from longfair.settings import (
    EpisodeLength,
    Natural,
    NonNegative,
    Probability,
    Range,
    Share,
    checked,
    require_length,
    validate,
)


@dataclass(frozen=True)
class LoanPoolParams:
    """Everything that defines a loan pool. The defaults are those of the discrete variant."""

    PRESETS: ClassVar[tuple[str, ...]] = ("discrete", "continuous")

    groups: tuple[Natural, ...] = (0, 0, 1, 1)
    """Group of each of the P people: 0 or 1. Both groups have somebody."""
    request_probability: tuple[Probability, ...] = (0.9, 0.9, 0.9, 0.9)
    """Probability that each person asks for a loan, drawn anew at every step."""
    initial_repayment: tuple[Probability, ...] = (0.6, 0.6, 0.9, 0.9)
    """Probability that each person repays a loan, at the start of an episode."""
    lowest_repayment: Probability = 0.2
    """Repayment probabilities never fall below this."""
    highest_repayment: Probability = 0.9
    """Repayment probabilities never rise above this."""
    credit_step: Share = 0.1
    """A repaid loan raises the borrower's repayment probability by this, a default lowers it."""
    credit_noise: NonNegative | None = None
    """None: credit moves on a grid. A number: it is real-valued, and every change has a Gaussian
    error with this standard deviation."""
    margin: Probability = 0.1
    """Profit that the bank must make by the end, in units per step, rounded down in total."""
    invalid_grant_cost: NonNegative = 1.0
    """Cost of granting a loan to somebody who did not ask, in episode lengths."""
    missed_margin_cost: NonNegative = 10.0
    """Cost of ending an episode with less profit than the margin, in episode lengths."""
    episode_length: EpisodeLength = 40
    """Steps per episode, at most one loan in each."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        if set(self.groups) != {0, 1}:
            raise UsageError(
                f"groups={self.groups!r}: give 0 or 1 for each person, both at least once"
            )
        for field in ("request_probability", "initial_repayment"):
            require_length(field, getattr(self, field), len(self.groups), "groups")
        low, high = self.lowest_repayment, self.highest_repayment
        checked("highest_repayment", high, Annotated[float, Range(low, 1.0)])
        credit = tuple[Annotated[float, Range(low, high)], ...]
        checked("initial_repayment", self.initial_repayment, credit)
        if self.credit_noise is None:
            self._require_grid()

    def _require_grid(self) -> None:
        named = {f"initial_repayment[{i}]": x for i, x in enumerate(self.initial_repayment)}
        for field, value in {"highest_repayment": self.highest_repayment, **named}.items():
            steps = (value - self.lowest_repayment) / self.credit_step
            if abs(steps - round(steps)) > _GRID_TOLERANCE:
                raise UsageError(
                    f"{field}={value!r} is {steps:g} credit steps above lowest_repayment: "
                    "give a whole number of steps, or a credit_noise for real-valued credit"
                )

    @classmethod
    def discrete(cls) -> LoanPoolParams:
        """Return the pool whose credit has eight levels, repayment probabilities 0.2 to 0.9."""
        return cls()

    @classmethod
    def continuous(cls) -> LoanPoolParams:
        """Return the pool with real-valued credit; the standard deviation 0.05 is our choice."""
        return cls(credit_noise=0.05)

    @property
    def required_profit(self) -> int:
        """Profit, in units, that an episode must reach."""
        return math.floor(self.episode_length * self.margin + _GRID_TOLERANCE)

    @property
    def invalid_reward(self) -> float:
        """Reward of granting a loan to somebody who did not ask."""
        return -self.invalid_grant_cost * self.episode_length

    @property
    def missed_reward(self) -> float:
        """Reward of the last step of an episode that misses the margin."""
        return -self.missed_margin_cost * self.episode_length


_GRID_TOLERANCE = 1e-9
