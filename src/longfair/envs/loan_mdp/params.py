"""What defines an individual loan problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from longfair.settings import (
    EpisodeLength,
    Length,
    Natural,
    NonNegative,
    OneOf,
    Positive,
    Probability,
    Range,
    checked,
    require_distribution,
    require_length,
    validate,
)


@dataclass(frozen=True)
class LoanMDPParams:
    """Everything that defines an individual loan problem.

    The defaults are the settings behind the paper's first figure. The groups are the minority
    (group 0) and the majority (group 1).
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("fico", "discretised")
    RISK_MEASURES: ClassVar[tuple[str, ...]] = ("as_coded", "standard_deviation")

    prior: Annotated[tuple[tuple[Positive, Positive], ...], Length(1)] = (
        (1.4614873, 0.51479711),
        (1.51578208, 0.19009129),
    )
    """G pairs (alpha, beta): Beta belief about a stranger's repayment probability. These were
    fitted to FICO scores by the authors; the means are 0.740 and 0.889."""
    group_probability: tuple[Probability, ...] = (0.29294318, 0.70705682)
    """G probabilities that the applicant belongs to each group."""
    exploration: tuple[Natural, ...] = (7, 10)
    """Loans that every applicant of each group has had when the episode begins."""
    interest: NonNegative = 0.17318629
    """Earned on a repaid loan."""
    principal: NonNegative = 1.0
    """Lost on a loan that is not repaid."""
    risk_aversion: NonNegative = 0.01
    """Price of one unit of risk, see `risk_measure`."""
    risk_measure: Annotated[str, OneOf(*RISK_MEASURES)] = "as_coded"
    """`"standard_deviation"`: that of the Beta belief. `"as_coded"`: the same times the square root
    of alpha + beta, as in the authors' code."""
    denial_drift: Probability = 0.1
    """What a denied loan adds to beta: a denial lowers the belief."""
    reward_offset: float = 2.0
    """Added to the reward of every step; it keeps the authors' optimiser's rewards positive."""
    qualified_mean: Probability = 0.82
    """Applicants whose first belief has at least this mean count as qualified."""
    discount: Probability = 0.8
    """Discount of the problem. The environment does not apply it; agents and solvers do."""
    largest_count: Natural | None = None
    """None: beliefs move without bounds. A number: repayments and defaults are counted up to it,
    and a denial adds one default with probability `denial_drift`."""
    episode_length: EpisodeLength = 51
    """Decisions per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        require_distribution("group_probability", self.group_probability, len(self.prior), "prior")
        require_length("exploration", self.exploration, len(self.prior), "prior")
        bounded = Annotated[int, Range(max(self.exploration))]
        checked("largest_count", self.largest_count, bounded | None)

    @classmethod
    def fico(cls) -> LoanMDPParams:
        """Return the continuous problem of the paper's first figure: 51 decisions."""
        return cls()

    @classmethod
    def discretised(cls) -> LoanMDPParams:
        """Return a finite problem for linear programming: counts up to 30, no reward offset.

        How the paper discretises is not in the text that we have. Rounding the drift at random
        keeps its mean.
        """
        return cls(largest_count=30, reward_offset=0.0)
