"""Training of F-PPO's case studies, as cases for `longfair bench train`.

What massaging costs shows only after its start, so training is timed after as many rollouts as the
authors' code was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO
from longfair.papers.fppo import attention, epidemic, lending
from longfair.papers.fppo.training import learner
from longfair.papers.setting import Setting
from longfair.papers.timing import seconds_of_a_step

PUBLISHED_STEPS_PER_SECOND = {"fppo/lending": 263, "fppo/epidemic": 145, "fppo/attention": 496}
"""Training steps per second of the authors' F-PPO, without evaluation, on one core."""

PUBLISHED_HOURS = {"fppo/lending": 0.7, "fppo/epidemic": 1.0, "fppo/attention": 1.1}
"""Core hours of one run of the authors' F-PPO, without evaluation."""

ROLLOUTS_BEFORE = {"fppo/lending": 200, "fppo/epidemic": 150, "fppo/attention": 100}
"""Rollouts after which theirs and ours are timed; massaging starts with 18, 51 and 16."""

METHODS = (("f-ppo", "as_coded"), ("ppo", "as_coded"))
"""Methods timed: with massaging, gaps and terms in the advantage; and plain PPO without them."""


@dataclass(frozen=True)
class TrainingCase:
    """One method in one environment, with the authors' settings."""

    experiment: str
    profile: str
    method: str
    variant: str
    config: Setting
    rollouts_before: int

    def model(self) -> FairPPO:
        """Return the learner, ready for `learn`."""
        return learner(self.config.learning, self.config, seed=0)

    def evaluation_seconds(self, model: FairPPO, steps: int = 20) -> float:
        """Return processor seconds of evaluation per rollout: there is one, after training.

        Parameters
        ----------
        model
            The learner.
        steps
            Steps to time of each episode.
        """
        evaluating = self.config.evaluating
        episodes, length = evaluating.final_episodes, evaluating.episode_length
        assert length is not None
        generator = np.random.default_rng(0)
        act = acting_snapshots([model.policy.actor()], episodes, model.action_space, generator)
        env = self.config.world.make(episodes, length, told=False)
        rollouts: int = self.config.learning.last_rollout + 1
        return seconds_of_a_step(env, act, steps) * length / rollouts


def cases() -> Iterator[TrainingCase]:
    """Yield the cases of the three environments."""
    for experiment in (lending.LENDING, epidemic.EPIDEMIC, attention.ATTENTION):
        arms = {(arm.method, arm.variant): arm.config for arm in experiment.arms["paper"]}
        for method, variant in METHODS:
            yield TrainingCase(
                experiment.id,
                "paper",
                method,
                variant,
                arms[method, variant] if method == "f-ppo" else without_gaps(arms[method, variant]),
                ROLLOUTS_BEFORE[experiment.id],
            )


def without_gaps(setting: Setting) -> Setting:
    """Return the same settings in a world that takes no gaps, which PPO does not look at."""
    world = setting.world
    wrappers = tuple(each for each in world.wrappers if not each.name.endswith("-gaps"))
    return replace(setting, world=replace(world, wrappers=wrappers))
