"""What constrained policy optimisation is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from longfair.settings import Count, Length, NonNegative, Positive, Probability, Share, validate


@dataclass(frozen=True)
class CPOSettings:
    """Settings of the algorithm; the defaults are those of F-PPO's attention allocation.

    The paper names CPO among its baselines and says no more, so all numbers are the code's. What
    differs is the algorithm: `as_published` is that of Achiam et al.
    """

    name: ClassVar[str] = "cpo"
    revision: ClassVar[int] = 2

    cost: str = "short_term_gap"
    """Key of the step's `info` that holds its cost (N,)."""
    limit: NonNegative = 0.5
    """What the costs of an episode may sum up to, discounted as published, undiscounted as coded.
    """
    discount: Share = 0.995
    decay: Probability = 0.98
    """Decay of the generalised advantages of the reward."""
    cost_decay: Probability = 1.0
    """The same of the cost."""
    max_divergence: Positive = 0.01
    """Mean Kullback-Leibler divergence that one step may make."""
    conjugate_steps: Count = 10
    """Iterations of the conjugate gradient."""
    damping: NonNegative = 0.0
    """Times the identity, added to the Fisher matrix: directions of little curvature stay short."""
    shrinking: Share = 0.9
    """What a step is multiplied by as long as the line search refuses it."""
    trials: Count = 10
    """Steps tried by the line search; if it refuses all, the policy stays."""
    hidden: Annotated[tuple[Count, ...], Length(1)] = (64, 64)
    """Sizes of the hidden layers of policy and critics."""
    critic_rate: Positive = 1e-3
    """Learning rate of L-BFGS."""
    critic_steps: Count = 25
    """Iterations of L-BFGS per batch."""
    critic_penalty: NonNegative = 1e-3
    """Weight of a critic's squared parameters in its loss."""
    as_coded: bool = False
    """See the notes of `longfair.agents.cpo.cpo.CPO`."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
