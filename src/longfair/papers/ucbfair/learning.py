"""How L-UCBFair and R-TD3 learn: settings, and the runs that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from longfair.papers.protocol import Act, Snapshots
from longfair.settings import Count, OneOf, validate

if TYPE_CHECKING:
    from longfair.agents.ucbfair.features import Features
    from longfair.agents.ucbfair.settings import LUCBFairSettings
    from longfair.papers.setting import Setting
    from longfair.runs.checkpoints import Checkpoint


class Training(NamedTuple):
    """What happened in the episodes of training, in their order."""

    loss: Sequence[float]
    """Mean of 1 minus the reward of an episode's steps."""
    disparity: Sequence[float]
    """Mean disparity of an episode's steps."""
    price: Sequence[float] = ()
    """The dual variable."""
    promised: Sequence[float] = ()
    """Fairness that the agent expected of the episode."""


@dataclass(frozen=True)
class UCBLearning:
    """How long L-UCBFair learns, and in what it is linear. The method is `LUCBFairSettings`."""

    episodes: Count = 2000
    """Training episodes K; they replace those of the method's settings."""
    copies: Count = 1
    """Episodes played with one policy; 1 in the algorithm."""
    features: Annotated[str, OneOf("radial", "learned")] = "radial"
    size: Count = 40
    """Number of features d."""
    transitions: Count = 100_000
    """Steps of random play that features are learned from."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Learn, and keep the last policy, which draws its thresholds."""
        from longfair.agents.ucbfair.learner import LUCBFair

        method: LUCBFairSettings = replace(setting.method, episodes=self.episodes)
        env = setting.world.make(self.copies, setting.episode_length)
        agent = LUCBFair(env, method, self._features(setting, seed), seed)
        agent.learn(method.episodes * agent.horizon)

        def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
            agent.set_random_seed(own)
            return lambda observation, info: agent.predict(observation)[0]

        told = [Training(*agent.history)]
        return Snapshots([agent.num_timesteps], act, told, agent.learned())

    def shortened(self, rollouts: int, episode_length: int) -> UCBLearning:
        """Return the same for a few fits."""
        return replace(self, episodes=rollouts * self.copies, transitions=2_000)

    def _features(self, setting: Setting, seed: int) -> Features:
        from longfair.agents.ucbfair.features import RadialFeatures
        from longfair.agents.ucbfair.offline_features import OfflineLearning, fit, random_play

        if self.features == "radial":
            return RadialFeatures.spread(self.size)
        learning = OfflineLearning(
            self.size, transitions=self.transitions, notion=setting.method.notion
        )
        played = random_play(
            setting.world.make(50, 50), learning.transitions, learning.notion, seed
        )
        return fit(played, learning, seed).features


@dataclass(frozen=True)
class TD3Learning:
    """How long R-TD3 learns. The method is `RTD3Settings`."""

    keeps_best: ClassVar[bool] = False
    """Whether not the last policy is kept, but the best of the training."""

    total_steps: Count = 200_000
    copies: Count = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Learn, and keep one policy; it acts without noise."""
        from longfair.papers.ucbfair.training import train

        agent, loss, disparity = train(self, setting, seed, checkpoint)

        def act(which: Sequence[int], episodes: int, own: int | None) -> Act:
            return lambda observation, info: agent.predict(observation, deterministic=True)[0]

        told = [Training(loss, disparity)]
        return Snapshots([agent.num_timesteps], act, told, agent.learned())

    def shortened(self, rollouts: int, episode_length: int) -> TD3Learning:
        """Return the same for a few steps after the first random ones."""
        return replace(self, total_steps=600)


@dataclass(frozen=True)
class BestTD3Learning(TD3Learning):
    """The same, keeping the policy whose last three episodes of training had the best mean return.

    The released script does so; see `longfair.papers.ucbfair.training.BestActor`.
    """

    keeps_best: ClassVar[bool] = True
