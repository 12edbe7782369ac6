"""Searches of Algorithm 2 under the one protocol: what is searched, and how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from longfair.agents.fair_mdp.baselines import ConstantPolicy, Constraint
from longfair.agents.fair_mdp.cross_entropy import CrossEntropy, required_rollouts, required_steps
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.settings import NonNegative, OneOf, Probability, Share, validate

if TYPE_CHECKING:
    from longfair.envs.loan_mdp.exact import Outcome
    from longfair.papers.protocol import Snapshots
    from longfair.papers.setting import Setting
    from longfair.runs.checkpoints import Checkpoint


@dataclass(frozen=True)
class Sampling:
    """How policies are estimated from sampled episodes; as coded they are evaluated exactly.

    Number and length of the episodes are those that Theorem 4.2 asks for.
    """

    tightening: Share = 0.1
    """Sigma: the part of the tolerance that is kept for errors of estimation. The paper's value is
    not known; a larger one takes fewer episodes and leaves less room to the search."""
    risk: Probability = 0.05
    """Delta: probability with which an estimate may be further off than that."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def size(self, tolerance: float) -> tuple[int, int]:
        """Return the number of episodes per group and policy, and their length."""
        return (
            required_rollouts(tolerance, self.tightening, self.risk),
            required_steps(tolerance, self.tightening, LoanMDPParams.fico().discount),
        )


@dataclass(frozen=True)
class Wanted:
    """What a search is for: the best policy of a kind that keeps a constraint."""

    constraint: Constraint
    policy: PolicyNetwork | ConstantPolicy = field(default_factory=PolicyNetwork)
    """A `SoftmaxNetwork` is evaluated by the recursion of the code."""
    tolerance: NonNegative = 0.1
    sees: Annotated[str, OneOf("reward", "profit")] = "reward"
    """What is as large as possible: the reward with the 2 per step of the code, or the bank's
    profit alone, since the paper knows no constant per step."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def seen(self, outcome: Outcome) -> FloatArray:
        """Return what the search sees of policies (P,)."""
        seen: FloatArray = getattr(outcome, self.sees)
        return seen


@dataclass(frozen=True)
class Searching:
    """How is searched."""

    settings: CrossEntropy = field(default_factory=CrossEntropy)
    sampling: Sampling | None = None
    """None: exact evaluation, and the last sample is returned (code). Otherwise policies are
    estimated from episodes, and a fresh draw is returned (paper)."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Search; see `longfair.papers.fairmdp.search_training.train`."""
        from longfair.papers.fairmdp.search_training import train

        return train(self, setting, seed)

    def shortened(self, rollouts: int, episode_length: int) -> Searching:
        """Return the same for two small iterations."""
        return replace(self, settings=replace(self.settings, population=6, elites=3, iterations=2))
