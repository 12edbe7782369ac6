"""How F-PPO's agents learn, and its baseline by constrained policy optimisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from longfair.settings import Count, Length, Positive, validate

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.papers.setting import Setting
    from longfair.runs.checkpoints import Checkpoint


@dataclass(frozen=True)
class TrunkPPO:
    """Settings of PPO as F-PPO's scripts have them.

    There is one environment and a common trunk, and rollouts may cut episodes.
    """

    rollout: Count
    """Steps of a rollout; where they cut episodes, episodes go on from rollout to rollout."""
    hidden: Annotated[tuple[Count, ...], Length(3)]
    """Sizes of the hidden layers; the last two belong to policy and critic, the others to both."""
    total_steps: Count
    minibatch: Count = 64
    epochs: Count = 10
    learning_rate: Positive = 1e-5
    massaged_at_evaluation: bool = False
    """Whether the last policy is also evaluated with the interventions of the last rollout."""

    name: ClassVar[str] = "trunk-ppo"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    @property
    def last_rollout(self) -> int:
        """Number of the last rollout, from 0 on."""
        return -(-self.total_steps // self.rollout) - 1

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fppo.training.train`."""
        from longfair.papers.fppo.training import train

        return train(self, setting, seed, checkpoint)

    def shortened(self, rollouts: int, episode_length: int) -> TrunkPPO:
        """Return the same for some rollouts, each used once."""
        return replace(self, total_steps=rollouts * self.rollout, epochs=1)


@dataclass(frozen=True)
class Trajectories:
    """How constrained policy optimisation learns: whole episodes, one in every copy, make a batch.

    What the algorithm is told stands in `longfair.agents.cpo.settings.CPOSettings`.
    """

    copies: Count = 25
    total_steps: Count = 15_000_000
    """Of all copies together: 600 batches of episodes of 1000 steps."""

    name: ClassVar[str] = "trajectories"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fppo.constrained.train`."""
        from longfair.papers.fppo.constrained import train

        return train(self, setting, seed, checkpoint)

    def shortened(self, rollouts: int, episode_length: int) -> Trajectories:
        """Return the same for one batch."""
        return replace(self, total_steps=self.copies * episode_length)
